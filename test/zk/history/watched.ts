/**
 * Holds what one client was told by a recursive watch against the writes that were acknowledged: every one of them, in the
 * order of their zxids, and each before any answer that could show it.
 */

export interface WriteSeen {
	readonly zxid: number
	/** `created /a`, `data /a`, `deleted /a`. */
	readonly event: string
}

/** One connection of a watching client: what came, in order. */
export interface Watching {
	/** Zxid of the answer that set the watch. */
	readonly fromZxid: number
	/** An event, or the zxid of an answer. */
	readonly came: readonly (string | number)[]
}

/**
 * The first thing that is wrong, or null. `acknowledged` are all writes of the server's whole life by zxid; `uncertain` the
 * events of writes whose outcome nobody was told, which may or may not be among what came.
 */
export function faultOfWatch(
	watching: Watching,
	acknowledged: readonly WriteSeen[],
	uncertain: readonly string[],
): string | null {
	const due = acknowledged.filter(({ zxid }) => zxid > watching.fromZxid)
	const maybe = [...uncertain]
	let told = 0
	for (const [position, each] of watching.came.entries()) {
		if (typeof each === 'number') {
			const missed = due[told]
			if (missed !== undefined && missed.zxid <= each)
				return `${position}: an answer at zxid ${each} before the event '${missed.event}' of zxid ${missed.zxid}`
			continue
		}
		if (due[told]?.event === each) {
			told++
			continue
		}
		const at = maybe.indexOf(each)
		if (at < 0) return `${position}: '${each}' came, '${due[told]?.event ?? 'nothing'}' was due`
		maybe.splice(at, 1)
	}
	return null
}
