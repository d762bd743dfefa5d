/**
 * A broker that a test scripts: it speaks the wire protocol over an in-memory network and answers each request by a
 * function of the test's. ApiVersions and Metadata are answered by itself.
 */

import { requestCodec } from '../../src/protocol/compile.js'
import { encodeResponse, readRequestHeader, requestHeaderVersion } from '../../src/protocol/frame.js'
import { Framer } from '../../src/protocol/framer.js'
import { apiVersions } from '../../src/protocol/messages/handshake.js'
import { metadata } from '../../src/protocol/messages/metadata.js'
import { Reader } from '../../src/protocol/reader.js'
import type { Family } from '../../src/protocol/schema.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import type { Runtime, Socket } from '../../src/runtime/ports.js'

/** An answer, 'drop' to break the connection without one, or 'silence' for none at all. */
export type Answer = Record<string, unknown> | 'drop' | 'silence'

export interface Script {
	readonly topics: Readonly<Record<string, number>>
	/** What Metadata says of every partition; 0 unless told. */
	readonly partitionCode?: number
	/** Families beside ApiVersions and Metadata, with the answers to their requests. */
	readonly handlers: readonly (readonly [Family, (message: never) => Answer | Promise<Answer>])[]
}

/** A runtime whose only broker, at any address, is the script's. */
export function scriptedRuntime(script: Script): Runtime {
	const families = new Map(
		[apiVersions, metadata, ...script.handlers.map(([family]) => family)].map((each) => [
			each.key,
			each as unknown as Family,
		]),
	)
	const handlers = new Map(script.handlers.map(([family, handle]) => [family.key, handle]))
	const answerOf = async (family: Family, message: unknown): Promise<Answer> => {
		if (family.key === apiVersions.key) {
			const apiKeys = [...families.values()].map(({ key, versions }) => ({
				apiKey: key,
				minVersion: versions.min,
				maxVersion: versions.max,
			}))
			return { errorCode: 0, apiKeys }
		}
		if (family.key === metadata.key) return metadataOf(script.topics, script.partitionCode ?? 0)
		return await (handlers.get(family.key) as (message: unknown) => Answer | Promise<Answer>)(message)
	}
	const connect = (): Promise<Socket> => Promise.resolve(scriptedSocket(families, answerOf))
	return { ...nodeRuntime(), network: { connect, listen: () => Promise.reject(new Error('a client does not listen')) } }
}

function metadataOf(topics: Readonly<Record<string, number>>, partitionCode: number): Answer {
	return {
		brokers: [{ nodeId: 1, host: 'scripted', port: 9092, rack: null }],
		clusterId: 'scripted',
		controllerId: 1,
		topics: Object.entries(topics).map(([name, count]) => ({
			errorCode: 0,
			name,
			partitions: Array.from({ length: count }, (_, partitionIndex) => ({
				errorCode: partitionCode,
				partitionIndex,
				leaderId: 1,
				replicaNodes: [1],
				isrNodes: [1],
			})),
		})),
	}
}

function scriptedSocket(
	families: ReadonlyMap<number, Family>,
	answerOf: (family: Family, message: unknown) => Promise<Answer>,
): Socket {
	const framer = new Framer(0x7fff_ffff)
	let onData: (chunk: Buffer) => void = () => undefined
	let onClose: (error: null) => void = () => undefined
	let isOpen = true
	let queue: Promise<void> = Promise.resolve()
	const close = (): void => {
		if (!isOpen) return
		isOpen = false
		queueMicrotask(() => onClose(null))
	}
	const take = async (frame: Buffer): Promise<void> => {
		const family = families.get(frame.readInt16BE(0)) as Family
		const version = frame.readInt16BE(2)
		const reader = new Reader(frame)
		const { correlationId } = readRequestHeader(reader, requestHeaderVersion(family, version))
		const answer = await answerOf(family, requestCodec(family, version).read(reader))
		if (!isOpen || answer === 'silence') return
		if (answer === 'drop') close()
		else onData(Buffer.concat(encodeResponse(family, version, correlationId, answer as never) as Buffer[]))
	}
	const idle = { remoteAddress: 'scripted', remotePort: 9092, localAddress: 'test', localPort: 1, pendingBytes: 0 }
	return {
		...idle,
		onData: (handler: (chunk: Buffer) => void) => {
			onData = handler
		},
		onClose: (handler: (error: null) => void) => {
			onClose = handler
		},
		onDrain: () => undefined,
		readInto: () => undefined,
		write: (chunks: readonly Uint8Array[]) => {
			// Requests are copied, as a real socket takes them: the client may write into its buffers again.
			framer.push(Buffer.concat(chunks), (frame) => {
				queue = queue.then(() => take(frame))
			})
			return true
		},
		pause: () => undefined,
		resume: () => undefined,
		end: close,
		destroy: close,
	} as unknown as Socket
}
