/** A TCP proxy in front of a ZooKeeper server that misbehaves on request: the ways in which links and servers fail. */

import * as net from 'node:net'
import { onTestFinished } from 'vitest'
import { FrameSplitter } from '../../src/zk/frame-splitter.js'

type Verdict = 'pass' | 'lose' | 'tear'

interface Pair {
	readonly client: net.Socket
	readonly server: net.Socket
}

export class FaultProxy {
	/** Accepts and stays silent, forwarding nothing, new connections included. */
	isFrozen = false
	/** Accepts and closes at once. */
	refuses = false
	accepted = 0
	/** Judges each frame from the server (length included): lose cuts the link in its place, tear in its middle. */
	onReply: (frame: Buffer) => Verdict = () => 'pass'
	/** Judges each frame from the client (length included), the ConnectRequest too. */
	onRequest: (frame: Buffer) => Verdict = () => 'pass'
	readonly #pairs = new Set<Pair>()
	readonly #server: net.Server
	#target: { host: string; port: number }

	private constructor(target: string) {
		this.#target = FaultProxy.#parse(target)
		this.#server = net.createServer((client) => this.#accept(client))
	}

	static async start(target: string): Promise<FaultProxy> {
		const proxy = new FaultProxy(target)
		await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
		onTestFinished(() => proxy.stop())
		return proxy
	}

	static #parse(address: string): { host: string; port: number } {
		const at = address.lastIndexOf(':')
		return { host: address.slice(0, at), port: Number(address.slice(at + 1)) }
	}

	get address(): string {
		return `127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
	}

	/** Sends later connections to another server. */
	retarget(target: string): void {
		this.#target = FaultProxy.#parse(target)
	}

	/** Cuts every link. */
	cut(): void {
		for (const pair of this.#pairs) {
			pair.client.destroy()
			pair.server.destroy()
		}
	}

	stop(): void {
		this.cut()
		this.#server.close()
	}

	#accept(client: net.Socket): void {
		this.accepted++
		client.on('error', () => undefined)
		if (this.refuses) {
			client.destroy()
			return
		}
		const server = net.connect(this.#target)
		server.on('error', () => undefined)
		const pair = { client, server }
		this.#pairs.add(pair)
		const end = (): void => {
			client.destroy()
			server.destroy()
			this.#pairs.delete(pair)
		}
		client.on('close', end)
		// Of a frozen link nothing comes through, its end neither.
		server.on('close', () => {
			if (!this.isFrozen) end()
		})
		this.#forward(client, server, end, (frame) => this.onRequest(frame))
		this.#forward(server, client, end, (frame) => this.onReply(frame))
	}

	#forward(from: net.Socket, to: net.Socket, end: () => void, judge: (frame: Buffer) => Verdict): void {
		const frames = new FrameSplitter((frame) => {
			if (this.isFrozen || to.destroyed) return
			const verdict = judge(frame)
			if (verdict === 'pass') to.write(frame)
			else if (verdict === 'lose') end()
			else to.write(frame.subarray(0, frame.length >> 1), end)
		})
		from.on('data', (chunk: Buffer) => {
			if (!this.isFrozen) frames.push(Buffer.from(chunk))
		})
	}
}

/** Loses the link once, in place of the first frame that `matches`. */
export function once(matches: (frame: Buffer) => boolean, verdict: Verdict = 'lose'): (frame: Buffer) => Verdict {
	let isDone = false
	return (frame) => {
		if (isDone || !matches(frame)) return 'pass'
		isDone = true
		return verdict
	}
}

/** Operation of a request frame; 0 for a ConnectRequest, which begins with protocol version 0. */
export function operationOf(frame: Buffer): number {
	return frame.length >= 44 && frame.readInt32BE(4) === 0 && frame.readInt32BE(0) >= 44 && frame.readInt32BE(8) === 0
		? 0
		: frame.readInt32BE(8)
}

/**
 * Loses the reply to the next request of `operation`: the request is passed on, the link cut in place of the answer.
 * Returns a probe that tells whether it happened.
 */
export function loseReplyTo(proxy: FaultProxy, operation: number): () => boolean {
	let xid: number | null = null
	let isDone = false
	proxy.onRequest = (frame) => {
		if (xid === null && operationOf(frame) === operation) xid = frame.readInt32BE(4)
		return 'pass'
	}
	proxy.onReply = (frame) => {
		if (isDone || xid === null || frame.readInt32BE(4) !== xid || frame.length < 20) return 'pass'
		isDone = true
		return 'lose'
	}
	return () => isDone
}
