/**
 * Odd, broken and hostile frames, each held against what Apache Kafka 3.9.2 did with the same bytes
 * (`test/fixtures/wire/edge-cases.txt`): answered, silent, or closed. Where we differ on purpose the case says why.
 */

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { RawSocket } from '../../helpers/raw-socket.js'
import { until } from '../../helpers/until.js'

interface Case {
	readonly name: string
	readonly sent: Buffer
	readonly received: string
	readonly end: string
}

function readCases(): Case[] {
	const text = readFileSync(new URL('../../fixtures/wire/edge-cases.txt', import.meta.url), 'utf8')
	return text
		.split('\n\n')
		.map((block) => block.trim().split('\n'))
		.filter((lines) => lines.some((line) => line.startsWith('> ')))
		.map((lines) => ({
			name: (lines.find((line) => line.startsWith('# ')) ?? '').slice(2),
			sent: Buffer.from((lines.find((line) => line.startsWith('> ')) ?? '').slice(2), 'hex'),
			received: (lines.find((line) => line.startsWith('<')) ?? '').slice(2).trim(),
			end: (lines.find((line) => line.startsWith('= ')) ?? '').slice(2),
		}))
}

/** A request that every broker answers, to see that the connection is open and in step: ApiVersions v0, correlation 77. */
const PROBE = Buffer.from('0000000a001200000000004dffff', 'hex')

/** Answers whose content is not ours to equal: the list of served requests, ids, addresses, wording. */
const CONTENT_DIFFERS =
	/ApiVersions v0|ApiVersions v3, |two requests|a Fetch that waits|Metadata v1, empty array|FindCoordinator v1, key type 9|SaslHandshake/

/** Where Kafka never answers, we say what is wrong (semantics 4.4). */
const WE_ANSWER = /records null/

let broker: TestBroker
beforeAll(async () => {
	broker = await startTestBroker()
	const connection = await broker.connect()
	const { createTopics } = await import('../../../src/protocol/messages/topics.js')
	await connection.request(createTopics, {
		topics: [{ name: 'sweep-5', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }],
		timeoutMs: 5000,
	})
	const { findCoordinator } = await import('../../../src/protocol/messages/group.js')
	await until('the group coordinator is there', async () => {
		const found = await connection.request(findCoordinator, { key: 'edge', keyType: 0 }, { atMost: 2 })
		return found.errorCode === 0
	})
})
afterAll(() => broker.stop())

describe('28.2 and 28.4 odd frames', () => {
	for (const { name, sent, received, end } of readCases()) {
		it(`${name} → ${end}`, async () => {
			const socket = await RawSocket.open(broker.port)
			try {
				socket.send(sent)
				if (end.startsWith('closed')) {
					expect(await socket.frame()).toBeNull()
					return
				}
				const frames = Math.max(received === '' ? 0 : 1, framesIn(received), WE_ANSWER.test(name) ? 1 : 0)
				for (let i = 0, at = 0; i < frames; i++) {
					const frame = await socket.frame()
					expect(frame).not.toBeNull()
					const theirs = received.slice(at, at + 8 + Number.parseInt(received.slice(at, at + 8), 16) * 2)
					at += theirs.length
					if (!CONTENT_DIFFERS.test(name) && !WE_ANSWER.test(name)) expect(frame?.toString('hex')).toBe(theirs)
				}
				socket.send(PROBE)
				const probe = await socket.frame()
				expect(probe?.readInt32BE(4)).toBe(77)
			} finally {
				socket.destroy()
			}
		})
	}
})

function framesIn(hex: string): number {
	let count = 0
	for (let at = 0; at + 8 <= hex.length; count++) at += 8 + Number.parseInt(hex.slice(at, at + 8), 16) * 2
	return count
}
