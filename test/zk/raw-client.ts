/**
 * A client of bare frames for the contract tests: sends what it is told, right or wrong, and shows every frame that comes
 * back in order. Works on any server that speaks ZooKeeper's protocol.
 */

import * as net from 'node:net'
import { JuteReader, type JuteType, JuteWriter } from '../../src/zk/jute.js'
import {
	connectRequest,
	connectResponse,
	createRequest,
	deleteRequest,
	EVENT,
	getDataReply,
	type MultiOp,
	type MultiResult,
	OP,
	readMultiResults,
	type StatRecord,
	setDataRequest,
	statRecord,
	watchedPathRequest,
	watcherEvent,
	writeMulti,
} from '../../src/zk/messages.js'
import { until } from '../helpers/until.js'

export interface Frame {
	readonly xid: number
	readonly zxid: number
	readonly err: number
	readonly body: Buffer
}

export const OPEN = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

const EVENT_NAMES: Readonly<Record<number, string>> = {
	[EVENT.created]: 'created',
	[EVENT.deleted]: 'deleted',
	[EVENT.dataChanged]: 'data',
	[EVENT.childrenChanged]: 'children',
}

export class RawClient {
	readonly frames: Frame[] = []
	/** Events and replies as they came: `created /a`, `reply 3`. */
	readonly order: string[] = []
	/** Told of each event (`created /a`) and each reply in the moment it comes. */
	told: (each: string | Frame) => void = () => undefined
	isClosed = false
	sessionId = 0n
	password: Buffer = Buffer.alloc(16)
	timeoutMs = 0
	greeting: Buffer | null = null
	text = ''
	readonly #socket: net.Socket
	#bytes = Buffer.alloc(0)
	#isGreeted = false
	#xid = 0

	private constructor(socket: net.Socket) {
		this.#socket = socket
		socket.on('data', (chunk) => this.#onData(chunk))
		socket.on('close', () => {
			this.isClosed = true
		})
		socket.on('error', () => undefined)
	}

	/** TCP alone. */
	static async dial(address: string): Promise<RawClient> {
		const at = address.lastIndexOf(':')
		const socket = net.connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)), noDelay: true })
		await new Promise<void>((resolve, reject) => {
			socket.once('connect', () => resolve())
			socket.once('error', reject)
		})
		return new RawClient(socket)
	}

	/** TCP and a session: a new one, or the one given. */
	static async open(
		address: string,
		options: { timeoutMs?: number; sessionId?: bigint; password?: Buffer; zxid?: number; readOnly?: boolean } = {},
	): Promise<RawClient> {
		const client = await RawClient.dial(address)
		client.greet(options)
		await until('a greeting', () => client.greeting !== null || client.isClosed)
		return client
	}

	greet(options: {
		timeoutMs?: number
		sessionId?: bigint
		password?: Buffer
		zxid?: number
		readOnly?: boolean
	}): void {
		const writer = new JuteWriter(4)
		connectRequest.write(writer, {
			protocolVersion: 0,
			lastZxidSeen: options.zxid ?? 0,
			timeoutMs: options.timeoutMs ?? 10_000,
			sessionId: options.sessionId ?? 0n,
			password: options.password ?? Buffer.alloc(16),
		})
		if (options.readOnly !== undefined) writer.bool(options.readOnly)
		writer.patchInt(0, writer.length - 4)
		this.write(writer.finish())
	}

	write(bytes: Buffer): void {
		this.#socket.write(bytes)
	}

	/** Sends a request; returns its xid. */
	send(type: number, write: (writer: JuteWriter) => void = () => undefined, xid = ++this.#xid): number {
		const writer = new JuteWriter(4)
		writer.int(xid)
		writer.int(type)
		write(writer)
		writer.patchInt(0, writer.length - 4)
		this.write(writer.finish())
		return xid
	}

	/** The next frame with this xid that nobody took. */
	async reply(xid: number): Promise<Frame> {
		const index = await until(`reply ${xid}`, () => {
			const found = this.frames.findIndex((frame) => frame.xid === xid)
			if (found < 0 && this.isClosed) throw new Error(`closed before reply ${xid}`)
			return found < 0 ? null : { found }
		})
		return this.frames.splice(index.found, 1)[0] as Frame
	}

	request(type: number, write?: (writer: JuteWriter) => void): Promise<Frame> {
		return this.reply(this.send(type, write))
	}

	async closed(): Promise<void> {
		await until('the server to close', () => this.isClosed)
	}

	/** Cuts the connection; the session lives on. */
	destroy(): void {
		this.#socket.destroy()
	}

	async end(): Promise<void> {
		if (this.isClosed) return
		await this.request(OP.closeSession)
		await this.closed()
	}

	/** Events so far, taken. A ping first, so that everything sent before is here. */
	async events(): Promise<string[]> {
		this.send(OP.ping, undefined, -2)
		await this.reply(-2)
		const events = this.order.filter((entry) => !entry.startsWith('reply'))
		this.order.length = 0
		return events
	}

	async create(path: string, data: string | null = '', flags = 0, acl = OPEN): Promise<{ err: number; path: string }> {
		const bytes = data === null ? null : Buffer.from(data)
		const frame = await this.request(OP.create, (writer) =>
			createRequest.write(writer, { path, data: bytes, acl, flags }),
		)
		return { err: frame.err, path: frame.err === 0 ? new JuteReader(frame.body).ustring() : '' }
	}

	async set(path: string, data: string, version: number): Promise<{ err: number; stat: StatRecord | null }> {
		const frame = await this.request(OP.setData, (writer) =>
			setDataRequest.write(writer, { path, data: Buffer.from(data), version }),
		)
		return { err: frame.err, stat: frame.err === 0 ? statRecord.read(new JuteReader(frame.body)) : null }
	}

	async remove(path: string, version = -1): Promise<number> {
		return (await this.request(OP.delete, (writer) => deleteRequest.write(writer, { path, version }))).err
	}

	async exists(path: string, watch = false): Promise<{ err: number; stat: StatRecord }> {
		const frame = await this.request(OP.exists, (writer) => watchedPathRequest.write(writer, { path, watch }))
		return { err: frame.err, stat: frame.err === 0 ? statRecord.read(new JuteReader(frame.body)) : NO_STAT }
	}

	async get(path: string, watch = false): Promise<{ err: number; data: string | null; stat: StatRecord }> {
		const frame = await this.request(OP.getData, (writer) => watchedPathRequest.write(writer, { path, watch }))
		if (frame.err !== 0) return { err: frame.err, data: null, stat: NO_STAT }
		const { data, stat } = getDataReply.read(new JuteReader(frame.body))
		return { err: 0, data: data === null ? null : data.toString(), stat }
	}

	async children(path: string, watch = false): Promise<{ err: number; names: string[] }> {
		const frame = await this.request(OP.getChildren, (writer) => watchedPathRequest.write(writer, { path, watch }))
		if (frame.err !== 0) return { err: frame.err, names: [] }
		const reader = new JuteReader(frame.body)
		const names: string[] = []
		for (let left = reader.count(4); left > 0; left--) names.push(reader.ustring())
		return { err: 0, names: names.sort() }
	}

	async multi(ops: readonly MultiOp[]): Promise<{ err: number; results: MultiResult[] }> {
		const frame = await this.request(OP.multi, (writer) => writeMulti(writer, ops))
		return { err: frame.err, results: frame.err === 0 ? readMultiResults(new JuteReader(frame.body)) : [] }
	}

	/** A read or other request with one record as its body: the reply read by `type`. */
	async call<Q, R>(
		op: number,
		request: JuteType<Q>,
		value: Q,
		reply: JuteType<R>,
	): Promise<{ err: number; value: R | null }> {
		const frame = await this.request(op, (writer) => request.write(writer, value))
		return { err: frame.err, value: frame.err === 0 ? reply.read(new JuteReader(frame.body)) : null }
	}

	#onData(chunk: Buffer): void {
		if (!this.#isGreeted && this.greeting === null) this.text += chunk.toString('latin1')
		this.#bytes = Buffer.concat([this.#bytes, chunk])
		while (this.#bytes.length >= 4 && this.#bytes.length >= 4 + this.#bytes.readInt32BE(0)) {
			const length = this.#bytes.readInt32BE(0)
			if (length < 0) return
			this.#onFrame(this.#bytes.subarray(4, 4 + length))
			this.#bytes = this.#bytes.subarray(4 + length)
		}
	}

	#onFrame(frame: Buffer): void {
		if (!this.#isGreeted) {
			this.#isGreeted = true
			this.greeting = Buffer.from(frame)
			const { timeoutMs, sessionId, password } = connectResponse.read(new JuteReader(frame))
			this.timeoutMs = timeoutMs
			this.sessionId = sessionId
			this.password = Buffer.from(password ?? [])
			return
		}
		const xid = frame.readInt32BE(0)
		if (xid === -1) {
			const { type, path } = watcherEvent.read(new JuteReader(frame, 16))
			this.order.push(`${EVENT_NAMES[type]} ${path}`)
			this.told(`${EVENT_NAMES[type]} ${path}`)
			return
		}
		this.order.push(`reply ${xid}`)
		const reply = {
			xid,
			zxid: Number(frame.readBigInt64BE(4)),
			err: frame.readInt32BE(12),
			body: Buffer.from(frame.subarray(16)),
		}
		this.frames.push(reply)
		this.told(reply)
	}
}

const NO_STAT: StatRecord = {
	czxid: -1,
	mzxid: -1,
	ctime: -1,
	mtime: -1,
	version: -1,
	cversion: -1,
	aversion: -1,
	ephemeralOwner: -1n,
	dataLength: -1,
	numChildren: -1,
	pzxid: -1,
}
