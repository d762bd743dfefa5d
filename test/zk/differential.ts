/**
 * The same script of operations on any ZooKeeper server, written down as text: replies with their errors, data, stats and
 * zxids, and the events of every client after each step. Two servers keep the same contract when their texts are equal.
 *
 * Scripts are random and told by their seed. A zxid is told by the step that wrote it, sessions are numbered, times left out.
 */

import { JuteReader, type JuteWriter } from '../../src/zk/jute.js'
import {
	addWatchRequest,
	authRequest,
	children2Reply,
	childrenReply,
	createReply2,
	createRequest,
	createTtlRequest,
	deleteRequest,
	FLAG,
	getAclReply,
	getDataReply,
	intReply,
	type MultiOp,
	OP,
	pathReply,
	pathRequest,
	readMultiResults,
	type StatRecord,
	setAclRequest,
	setDataRequest,
	statReply,
	watchedPathRequest,
	whoAmIReply,
	writeMulti,
} from '../../src/zk/messages.js'
import { seeded } from '../helpers/seeded.js'
import { OPEN, RawClient } from './raw-client.js'

const CLIENTS = 3
/**
 * The client whose watches are persistent. Apache 3.8 forgets one of two watches of different kinds that a client has on
 * a path (ZOOKEEPER-4466), which ours does not; and its checkWatches and removeWatches count the watches of others. Neither
 * is compared here: the contract tests say what ours does.
 */
const PERSISTENT = 2
const READ_ONLY = [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }]
const OWNED = [{ perms: 31, id: { scheme: 'auth', id: '' } }]
const DIGEST = [
	{ perms: 31, id: { scheme: 'digest', id: 'user1:L5YJfeqkjtdCWjNFgYmmMeBeR5s=' } },
	{ perms: 1, id: { scheme: 'world', id: 'anyone' } },
]

interface Step {
	readonly client: number
	readonly name: string
	readonly type: number
	readonly write: (writer: JuteWriter) => void
	/** -4 for authentication, else the client's own count. */
	readonly xid?: number
	readonly ends?: 'close' | 'cut'
}

const WRITES: ReadonlySet<number> = new Set([
	OP.create,
	OP.create2,
	OP.createTtl,
	OP.createContainer,
	OP.delete,
	OP.setData,
	OP.setAcl,
	OP.multi,
])

/** Nodes that every script begins with, so that most of what follows meets something. */
const PLANTED = ['a', 'b', 'a/a', 'a/b', 'b/a']

class Script {
	readonly #next: () => number
	readonly #root: string

	constructor(seed: number, root: string) {
		this.#next = seeded(seed)
		this.#root = root
	}

	#below(count: number): number {
		return Math.floor(this.#next() * count)
	}

	#one<T>(items: readonly T[]): T {
		return items[this.#below(items.length)] as T
	}

	#path(): string {
		const name = () => this.#one(['a', 'b', 'c'])
		const depth = this.#below(10)
		if (depth === 0) return this.#root
		if (depth < 6) return `${this.#root}/${name()}`
		if (depth < 9) return `${this.#root}/${name()}/${name()}`
		return this.#one([
			`${this.#root}/${name()}/${name()}/${name()}`,
			`${this.#root}//a`,
			`${this.#root}/a/`,
			`${this.#root}/.`,
		])
	}

	#version(): number {
		return this.#one([-1, -1, -1, 0, 1, 2])
	}

	#create(): { path: string; data: Buffer | null; acl: typeof OPEN; flags: number } {
		const flags = this.#one([0, 0, 0, 1, 1, 2, 3, FLAG.container, FLAG.persistentTtl, 9])
		const acl = this.#one([OPEN, OPEN, OPEN, OPEN, OPEN, READ_ONLY, OWNED, DIGEST, []])
		const path = this.#path()
		// Sequential names beside the root would count nodes of other scripts.
		const isRoot = path === this.#root
		return { path, data: this.#one([null, Buffer.alloc(0), Buffer.from('data')]), acl, flags: isRoot ? 0 : flags }
	}

	#multi(): MultiOp[] {
		return Array.from({ length: 1 + this.#below(4) }, (): MultiOp => {
			switch (this.#below(5)) {
				case 0:
					return { type: 1, body: this.#create() }
				case 1:
					return { type: 15, body: { ...this.#create(), acl: OPEN } }
				case 2:
					return { type: 2, body: { path: this.#path(), version: this.#version() } }
				case 3:
					return { type: 5, body: { path: this.#path(), data: Buffer.from('multi'), version: this.#version() } }
				default:
					return { type: 13, body: { path: this.#path(), version: this.#version() } }
			}
		})
	}

	plant(name: string): Step {
		const body = { path: `${this.#root}/${name}`, data: Buffer.from(name), acl: OPEN, flags: 0 }
		return { client: 0, name: `create ${name}`, type: OP.create, write: (writer) => createRequest.write(writer, body) }
	}

	step(): Step {
		const client = this.#below(CLIENTS)
		const step = (name: string, type: number, write: (writer: JuteWriter) => void, more: Partial<Step> = {}): Step => ({
			client,
			name,
			type,
			write,
			...more,
		})
		const kind = this.#below(40)
		if (kind < 9) {
			const body = this.#create()
			const text = `create ${body.path} ${body.flags} ${body.acl[0]?.id.scheme ?? 'no'} ${body.data}`
			const type = this.#one([OP.create, OP.create, OP.create2])
			if (this.#below(12) === 0) {
				// A negative time with flags of no TTL is written to Apache's log, ends the server, and every start after it.
				const ttl = this.#one([0, 1000])
				return step(`ttl ${text} ${ttl}`, OP.createTtl, (writer) => createTtlRequest.write(writer, { ...body, ttl }))
			}
			if (this.#below(12) === 0)
				return step(`container ${text}`, OP.createContainer, (writer) => createRequest.write(writer, body))
			return step(text, type, (writer) => createRequest.write(writer, body))
		}
		const path = this.#path()
		const version = this.#version()
		const watch = this.#below(2) === 0 && client !== PERSISTENT
		if (kind < 13 && path !== this.#root)
			return step(`delete ${path} ${version}`, OP.delete, (writer) => deleteRequest.write(writer, { path, version }))
		if (kind < 17) {
			const data = this.#one([null, Buffer.from('new')])
			return step(`set ${path} ${version}`, OP.setData, (writer) =>
				setDataRequest.write(writer, { path, data, version }),
			)
		}
		const read = (name: string, type: number): Step =>
			step(`${name} ${path} ${watch}`, type, (writer) => watchedPathRequest.write(writer, { path, watch }))
		if (kind < 19) return read('get', OP.getData)
		if (kind < 22) return read('exists', OP.exists)
		if (kind < 23) return read('children', OP.getChildren)
		if (kind < 25) return read('children2', OP.getChildren2)
		if (kind < 29) {
			const ops = this.#multi()
			const text = ops
				.map(({ type, body }) => `${type}:${body.path}:${'version' in body ? body.version : body.flags}`)
				.join(' ')
			return step(`multi ${text}`, OP.multi, (writer) => writeMulti(writer, ops))
		}
		if (kind < 30) return step(`getAcl ${path}`, OP.getAcl, (writer) => pathRequest.write(writer, { path }))
		if (kind < 31) {
			const acl = this.#one([OPEN, READ_ONLY, OWNED, DIGEST, []])
			const text = `setAcl ${path} ${acl[0]?.id.scheme ?? 'no'} ${acl[0]?.perms} ${version}`
			return step(text, OP.setAcl, (writer) => setAclRequest.write(writer, { path, acl, version }))
		}
		if (kind < 35) {
			const mode = this.#one([0, 1, 0, 1, 2])
			const write = (writer: JuteWriter) => addWatchRequest.write(writer, { path, mode })
			return step(`addWatch ${path} ${mode}`, OP.addWatch, write, { client: PERSISTENT })
		}
		if (kind < 36) {
			const auth = this.#one(['user1:secret', 'user2:other'])
			return step(
				`auth ${auth}`,
				OP.auth,
				(writer) => authRequest.write(writer, { type: 0, scheme: 'digest', auth: Buffer.from(auth) }),
				{ xid: -4 },
			)
		}
		if (kind < 37) return step(`ephemerals ${path}`, OP.getEphemerals, (writer) => pathRequest.write(writer, { path }))
		if (kind < 38)
			return step(`count ${path}`, OP.getAllChildrenNumber, (writer) => pathRequest.write(writer, { path }))
		if (kind < 39) return step(this.#one(['whoAmI', 'whoAmI']), OP.whoAmI, () => undefined)
		return step(`sync ${path}`, OP.sync, (writer) => pathRequest.write(writer, { path }))
	}
}

const sorted = (names: readonly string[]): string => [...names].sort().join(',')

/** What a reply says, in text that does not depend on the server's clock and counters. */
class Reader {
	readonly #writes = new Map<number, string>()
	readonly #sessions: readonly bigint[]

	constructor(sessions: readonly bigint[]) {
		this.#sessions = sessions
	}

	/** A step wrote under this zxid. */
	wrote(zxid: number, step: string): void {
		if (!this.#writes.has(zxid)) this.#writes.set(zxid, step)
	}

	zxid(zxid: number): string {
		return this.#writes.get(zxid) ?? `unknown ${zxid}`
	}

	#stat(stat: StatRecord): string {
		const owner = this.#sessions.indexOf(stat.ephemeralOwner)
		const shown = owner >= 0 ? `session${owner}` : String(stat.ephemeralOwner)
		const { version, cversion, aversion, dataLength, numChildren } = stat
		const zxids = [stat.czxid, stat.mzxid, stat.pzxid].map((zxid) => this.zxid(zxid)).join(' ')
		return `[${zxids} v${version} c${cversion} a${aversion} ${shown} ${dataLength} ${numChildren}]`
	}

	body(type: number, bytes: Buffer): string {
		const reader = new JuteReader(bytes)
		switch (type) {
			case OP.create:
			case OP.sync:
				return pathReply.read(reader).path
			case OP.create2:
			case OP.createTtl:
			case OP.createContainer: {
				const { path, stat } = createReply2.read(reader)
				return `${path} ${this.#stat(stat)}`
			}
			case OP.setData:
			case OP.exists:
			case OP.setAcl:
				return this.#stat(statReply.read(reader).stat)
			case OP.getData: {
				const { data, stat } = getDataReply.read(reader)
				return `${data} ${this.#stat(stat)}`
			}
			case OP.getChildren:
				return sorted(childrenReply.read(reader).children)
			case OP.getChildren2: {
				const { children, stat } = children2Reply.read(reader)
				return `${sorted(children)} ${this.#stat(stat)}`
			}
			case OP.getAcl: {
				const { acl, stat } = getAclReply.read(reader)
				return `${acl.map(({ perms, id }) => `${perms}:${id.scheme}:${id.id}`).join(',')} ${this.#stat(stat)}`
			}
			case OP.multi:
				return readMultiResults(reader)
					.map((result) => {
						const path = 'path' in result ? result.path : ''
						const stat = 'stat' in result ? this.#stat(result.stat) : ''
						return `${result.type}:${'err' in result ? result.err : ''}${path}${stat}`
					})
					.join(' ')
			case OP.getEphemerals:
				return sorted(childrenReply.read(reader).children)
			case OP.getAllChildrenNumber:
				return String(intReply.read(reader).value)
			case OP.whoAmI:
				return whoAmIReply
					.read(reader)
					.identities.map(({ scheme, user }) => `${scheme}:${user}`)
					.sort()
					.join(',')
			default:
				return bytes.toString('hex')
		}
	}
}

/** Plays the script of `seed` below `/d<seed>` and writes down what happened, a line a step. */
export async function transcript(address: string, seed: number, steps: number, tag = ''): Promise<string[]> {
	const root = `/d${seed}${tag}`
	const clients: RawClient[] = []
	for (let i = 0; i < CLIENTS; i++) clients.push(await RawClient.open(address, { timeoutMs: 30_000 }))
	const lines: string[] = []
	try {
		const made = await (clients[0] as RawClient).request(OP.create, (writer) =>
			createRequest.write(writer, { path: root, data: null, acl: OPEN, flags: 0 }),
		)
		const reader = new Reader(clients.map(({ sessionId }) => sessionId))
		reader.wrote(made.zxid, 'root')
		const script = new Script(seed, root)
		const seen = clients.map(() => 0)
		for (let i = 0; i < steps; i++) {
			const { client, name, type, write, xid } = i < PLANTED.length ? script.plant(PLANTED[i] as string) : script.step()
			const zk = clients[client] as RawClient
			const frame = await zk.reply(zk.send(type, write, xid))
			if (frame.err === 0 && WRITES.has(type)) reader.wrote(frame.zxid, `#${i}`)
			// Authentication answers with zxid 0; all others never go back.
			if (xid === undefined && frame.zxid < (seen[client] as number)) lines.push(`zxid goes back to ${frame.zxid}`)
			seen[client] = Math.max(seen[client] as number, frame.zxid)
			const body = frame.err === 0 && frame.body.length > 0 ? reader.body(type, frame.body) : ''
			lines.push(`#${i} ${client} ${name} -> ${frame.err} ${body}`)
			for (const [index, each] of clients.entries()) {
				for (const event of await each.events()) lines.push(`   event at ${index}: ${event}`)
			}
		}
	} finally {
		for (const client of clients) client.destroy()
	}
	return lines
}
