import { describe, expect, test } from 'vitest'
import { JuteReader, type JuteType, JuteWriter } from '../../src/zk/jute.js'
import * as messages from '../../src/zk/messages.js'
import { goldenExchanges } from './golden-frames.js'

const { OP } = messages

const none: JuteType<null> = { leastBytes: 0, read: () => null, write: () => undefined }

const multi: JuteType<messages.MultiOp[]> = {
	leastBytes: 9,
	read: (reader) => messages.readMulti(reader),
	write: (writer, value) => messages.writeMulti(writer, value),
}

const multiReply: JuteType<messages.MultiResult[]> = {
	leastBytes: 9,
	read: (reader) => messages.readMultiResults(reader),
	write: (writer, value) => messages.writeMultiResults(writer, value),
}

/** Request and reply body of each operation. */
const BODIES = new Map<number, [JuteType<never>, JuteType<never>]>([
	[OP.create, [messages.createRequest, messages.pathReply]],
	[OP.create2, [messages.createRequest, messages.createReply2]],
	[OP.createContainer, [messages.createRequest, messages.createReply2]],
	[OP.createTtl, [messages.createTtlRequest, messages.createReply2]],
	[OP.delete, [messages.deleteRequest, none]],
	[OP.exists, [messages.watchedPathRequest, messages.statReply]],
	[OP.getData, [messages.watchedPathRequest, messages.getDataReply]],
	[OP.setData, [messages.setDataRequest, messages.statReply]],
	[OP.getAcl, [messages.pathRequest, messages.getAclReply]],
	[OP.setAcl, [messages.setAclRequest, messages.statReply]],
	[OP.getChildren, [messages.watchedPathRequest, messages.childrenReply]],
	[OP.getChildren2, [messages.watchedPathRequest, messages.children2Reply]],
	[OP.sync, [messages.pathRequest, messages.pathReply]],
	[OP.ping, [none, none]],
	[OP.multi, [multi, multiReply]],
	[OP.auth, [messages.authRequest, none]],
	[OP.setWatches, [messages.setWatchesRequest, none]],
	[OP.getEphemerals, [messages.pathRequest, messages.childrenReply]],
	[OP.getAllChildrenNumber, [messages.pathRequest, messages.intReply]],
	[OP.addWatch, [messages.addWatchRequest, messages.intReply]],
	[OP.removeWatches, [messages.watchTypeRequest, none]],
	[OP.whoAmI, [none, messages.whoAmIReply]],
	[OP.closeSession, [none, none]],
] as never)

/** Reads all types in a row to the very end of the frame, and writes them again. */
function roundTrip(frame: Buffer, types: readonly JuteType<never>[], more = 0): Buffer {
	const reader = new JuteReader(frame, 4)
	const values = types.map((type) => type.read(reader))
	expect(reader.left).toBe(more)
	const writer = new JuteWriter(4)
	for (const [index, type] of types.entries()) type.write(writer, values[index] as never)
	writer.patchInt(0, writer.length - 4 + more)
	return writer.finish()
}

const exchanges = goldenExchanges()

describe('golden frames of real servers and clients read to the last byte and write back equal', () => {
	test('there are frames of every client', () => {
		expect(exchanges.length).toBeGreaterThan(120)
	})

	for (const [index, exchange] of exchanges.entries()) {
		test(`${exchange.file} ${index}`, () => {
			const { kind, request, answer } = exchange
			if (kind.startsWith('connect')) {
				for (const [frame, type] of [
					[request, messages.connectRequest],
					[answer, messages.connectResponse],
				] as const) {
					if (frame === null) continue
					// The read-only byte is there or not, as the client pleases.
					const readOnly = (frame.length - 4) % 4
					expect([0, 1]).toContain(readOnly)
					const again = roundTrip(frame, [type as JuteType<never>], readOnly)
					expect(again).toEqual(frame.subarray(0, frame.length - readOnly))
				}
				return
			}
			if (kind === 'event') {
				const types = [messages.replyHeader, messages.watcherEvent] as unknown as JuteType<never>[]
				expect(roundTrip(answer as Buffer, types)).toEqual(answer)
				return
			}
			const frame = request as Buffer
			const [requestBody, replyBody] = BODIES.get(frame.readInt32BE(8)) as [JuteType<never>, JuteType<never>]
			expect(roundTrip(frame, [messages.requestHeader as JuteType<never>, requestBody])).toEqual(frame)
			if (answer === null) return
			const body = answer.readInt32BE(16) === 0 ? replyBody : (none as JuteType<never>)
			expect(roundTrip(answer, [messages.replyHeader as JuteType<never>, body])).toEqual(answer)
		})
	}
})
