/** Who leads a partition after a change: one pure function a reason (semantics 15.6, 15.7). */

import type { PartitionState } from '../../zk/znodes.js'

/** What an election decides; null: no leader can be had by this rule. */
export interface Elected {
	readonly leader: number
	readonly isr: readonly number[]
	/** 1 after an unclean election. */
	readonly leaderRecoveryState: number
}

type IsLive = (replica: number) => boolean

/** First leader of a partition: the first live replica; the ISR is all live ones. */
export function electNew(replicas: readonly number[], isLive: IsLive): Elected | null {
	const live = replicas.filter(isLive)
	const leader = live[0]
	return leader === undefined ? null : { leader, isr: live, leaderRecoveryState: 0 }
}

/**
 * The leader is gone: the first replica in assignment order that is live and in sync. Without one, and only when
 * `allowsUnclean`, the first live one, alone in the ISR and recovering; acknowledged records may be lost by that.
 */
export function electOffline(
	replicas: readonly number[],
	state: PartitionState,
	isLive: IsLive,
	allowsUnclean: boolean,
): Elected | null {
	const inSync = replicas.find((replica) => isLive(replica) && state.isr.includes(replica))
	if (inSync !== undefined) {
		const isr = state.isr.filter(isLive)
		return { leader: inSync, isr, leaderRecoveryState: state.leaderRecoveryState }
	}
	if (!allowsUnclean) return null
	const any = replicas.find(isLive)
	return any === undefined ? null : { leader: any, isr: [any], leaderRecoveryState: 1 }
}

/** The head of the assignment, when it is live and in sync. The ISR stays. */
export function electPreferred(replicas: readonly number[], state: PartitionState, isLive: IsLive): Elected | null {
	const head = replicas[0]
	if (head === undefined || !isLive(head) || !state.isr.includes(head)) return null
	return { leader: head, isr: state.isr, leaderRecoveryState: state.leaderRecoveryState }
}

/** A broker wants to stop: the first assigned replica that is live, in sync and not stopping leads. */
export function electForShutdown(
	replicas: readonly number[],
	state: PartitionState,
	isLive: IsLive,
	isStopping: (replica: number) => boolean,
): Elected | null {
	const isr = state.isr.filter((replica) => !isStopping(replica))
	const leader = replicas.find((replica) => isLive(replica) && isr.includes(replica))
	return leader === undefined ? null : { leader, isr, leaderRecoveryState: state.leaderRecoveryState }
}
