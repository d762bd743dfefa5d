/**
 * Where the replicas of new partitions go: Kafka's own assignment (semantics 16.8–16.10), by rack when every broker has
 * one. Pure: the two random starts are given.
 */

export interface BrokerRack {
	readonly id: number
	readonly rack: string | null
}

export interface PlacementRequest {
	readonly brokers: readonly BrokerRack[]
	readonly partitions: number
	readonly replicationFactor: number
	/** Number of the first partition to place: the old count when a topic grows. */
	readonly firstPartition?: number
	/** Where the first replicas start, and by how much the others are shifted: any whole numbers. */
	readonly startIndex: number
	readonly startShift: number
}

/**
 * Replicas by partition number, preferred leader first. `replicationFactor` must be from 1 to the number of brokers
 * (the caller answers 38 otherwise). Racks are used only when all brokers have one.
 */
export function placeReplicas(request: PlacementRequest): Map<number, number[]> {
	const byRack = request.brokers.every((broker) => broker.rack !== null)
	const racks = new Set(request.brokers.map((broker) => broker.rack))
	return byRack && racks.size > 1 ? placeByRack(request) : placeAnywhere(request)
}

function placeAnywhere(request: PlacementRequest): Map<number, number[]> {
	const ids = request.brokers.map((broker) => broker.id).sort((a, b) => a - b)
	const placed = new Map<number, number[]>()
	const first = request.firstPartition ?? 0
	const start = request.startIndex % ids.length
	let shift = request.startShift
	for (let partition = first; partition < first + request.partitions; partition++) {
		if (partition > 0 && partition % ids.length === 0) shift++
		const firstAt = (partition + start) % ids.length
		const replicas = [ids[firstAt] as number]
		for (let j = 0; j < request.replicationFactor - 1; j++) {
			replicas.push(ids[replicaIndex(firstAt, shift, j, ids.length)] as number)
		}
		placed.set(partition, replicas)
	}
	return placed
}

function replicaIndex(firstAt: number, shift: number, j: number, count: number): number {
	const distance = 1 + ((shift + j) % (count - 1))
	return (firstAt + distance) % count
}

/** Brokers in an order that alternates over racks: the first of each rack, the second of each, … */
function alternated(brokers: readonly BrokerRack[]): BrokerRack[] {
	const byRack = new Map<string, BrokerRack[]>()
	for (const broker of [...brokers].sort((a, b) => a.id - b.id)) {
		const rack = broker.rack as string
		byRack.set(rack, [...(byRack.get(rack) ?? []), broker])
	}
	const racks = [...byRack.keys()].sort()
	const order: BrokerRack[] = []
	for (let round = 0; order.length < brokers.length; round++) {
		for (const rack of racks) {
			const broker = byRack.get(rack)?.[round]
			if (broker !== undefined) order.push(broker)
		}
	}
	return order
}

function placeByRack(request: PlacementRequest): Map<number, number[]> {
	const order = alternated(request.brokers)
	const rackCount = new Set(order.map((broker) => broker.rack)).size
	const placed = new Map<number, number[]>()
	const first = request.firstPartition ?? 0
	const start = request.startIndex % order.length
	let shift = request.startShift
	for (let partition = first; partition < first + request.partitions; partition++) {
		if (partition > 0 && partition % order.length === 0) shift++
		placed.set(
			partition,
			placeOne(order, rackCount, (partition + start) % order.length, shift, request.replicationFactor),
		)
	}
	return placed
}

function placeOne(
	order: readonly BrokerRack[],
	rackCount: number,
	firstAt: number,
	shift: number,
	replicationFactor: number,
): number[] {
	const leader = order[firstAt] as BrokerRack
	const replicas = [leader.id]
	const racks = new Set([leader.rack])
	let k = 0
	while (replicas.length < replicationFactor) {
		const broker = order[replicaIndex(firstAt, shift * rackCount, k, order.length)] as BrokerRack
		k++
		// A rack is used twice only when all have one replica, a broker never.
		const rackIsFree = !racks.has(broker.rack) || racks.size === rackCount
		if (rackIsFree && !replicas.includes(broker.id)) {
			replicas.push(broker.id)
			racks.add(broker.rack)
		}
	}
	return replicas
}
