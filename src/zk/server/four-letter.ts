/**
 * Four-letter words: plain text answers to monitoring, in the form of Apache ZooKeeper 3.8 that tools parse. Pure: the
 * server hands over what it knows.
 */

/** Shown to clients that parse it; the protocol and behaviour are those of this version. */
export const ZOOKEEPER_VERSION = '3.8.4-kcli, built on 2024-02-12 22:16 UTC'

export interface ConnectionStatus {
	/** `/ip:port`. */
	readonly remote: string
	readonly received: number
	readonly sent: number
	readonly sessionId: bigint
	readonly timeoutMs: number
}

export interface ServerStatus {
	readonly connections: readonly ConnectionStatus[]
	readonly received: number
	readonly sent: number
	readonly outstanding: number
	readonly zxid: number
	readonly nodes: number
	readonly ephemerals: number
	readonly dataBytes: number
	readonly sessions: number
	readonly watches: { readonly watchers: number; readonly paths: number; readonly watches: number }
	readonly uptimeMs: number
	readonly latency: { readonly min: number; readonly average: number; readonly max: number }
	readonly fsyncs: number
	/** Bytes of all snapshots, and of all logs, on disk. */
	readonly disk: { readonly snapshotBytes: number; readonly logBytes: number }
	readonly config: {
		readonly port: number
		readonly dataDir: string
		readonly tickMs: number
		readonly connectionsPerAddressMax: number
		readonly sessionTimeoutMinMs: number
		readonly sessionTimeoutMaxMs: number
	}
	readonly ephemeralsBySession: readonly { readonly sessionId: bigint; readonly paths: readonly string[] }[]
	readonly watchesBySession: readonly { readonly sessionId: bigint; readonly paths: readonly string[] }[]
}

const hex = (id: bigint): string => `0x${id.toString(16)}`
const rounded = (value: number): string => String(Math.round(value * 10_000) / 10_000)
const lines = (texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('')

function counters(status: ServerStatus): string {
	const { min, average, max } = status.latency
	return lines([
		`Latency min/avg/max: ${min}/${average === 0 ? '0.0' : rounded(average)}/${max}`,
		`Received: ${status.received}`,
		`Sent: ${status.sent}`,
		`Connections: ${status.connections.length}`,
		`Outstanding: ${status.outstanding}`,
		`Zxid: 0x${status.zxid.toString(16)}`,
		'Mode: standalone',
		`Node count: ${status.nodes}`,
	])
}

const brief = (each: ConnectionStatus): string =>
	` ${each.remote}[1](queued=0,recved=${each.received},sent=${each.sent})`

const full = (each: ConnectionStatus): string =>
	` ${each.remote}[1](queued=0,recved=${each.received},sent=${each.sent},sid=${hex(each.sessionId)},to=${each.timeoutMs})`

function monitor(status: ServerStatus): string {
	const rows: readonly [string, string | number][] = [
		['version', ZOOKEEPER_VERSION],
		['server_state', 'standalone'],
		['ephemerals_count', status.ephemerals],
		['num_alive_connections', status.connections.length],
		['avg_latency', status.latency.average === 0 ? '0.0' : rounded(status.latency.average)],
		['outstanding_requests', status.outstanding],
		['znode_count', status.nodes],
		['global_sessions', status.sessions],
		['packets_sent', status.sent],
		['packets_received', status.received],
		['watch_count', status.watches.watches],
		['min_latency', status.latency.min],
		['max_latency', status.latency.max],
		['approximate_data_size', status.dataBytes],
		['local_sessions', 0],
		['uptime', Math.round(status.uptimeMs)],
		['fsync_count', status.fsyncs],
	]
	return lines(rows.map(([key, value]) => `zk_${key}\t${value}`))
}

function configuration({ config, disk }: ServerStatus): string {
	return lines([
		`clientPort=${config.port}`,
		'secureClientPort=-1',
		`dataDir=${config.dataDir}`,
		`dataDirSize=${disk.snapshotBytes}`,
		`dataLogDir=${config.dataDir}`,
		`dataLogSize=${disk.logBytes}`,
		`tickTime=${config.tickMs}`,
		`maxClientCnxns=${config.connectionsPerAddressMax}`,
		`minSessionTimeout=${config.sessionTimeoutMinMs}`,
		`maxSessionTimeout=${config.sessionTimeoutMaxMs}`,
		'clientPortListenBacklog=-1',
		'serverId=0',
	])
}

function watchesBySession(status: ServerStatus): string {
	return status.watchesBySession
		.map(({ sessionId, paths }) => lines([hex(sessionId), ...paths.map((path) => `\t${path}`)]))
		.join('')
}

function watchesByPath(status: ServerStatus): string {
	const byPath = new Map<string, bigint[]>()
	for (const { sessionId, paths } of status.watchesBySession) {
		for (const path of paths) byPath.set(path, [...(byPath.get(path) ?? []), sessionId])
	}
	return [...byPath].map(([path, ids]) => lines([path, ...ids.map((id) => `\t${hex(id)}`)])).join('')
}

function dump(status: ServerStatus): string {
	const sessions = status.ephemeralsBySession
	return lines([
		'SessionTracker dump:',
		`Global Sessions(${status.sessions}):`,
		'ephemeral nodes dump:',
		`Sessions with Ephemerals (${sessions.length}):`,
		...sessions.flatMap(({ sessionId, paths }) => [`${hex(sessionId)}:`, ...paths.map((path) => `\t${path}`)]),
		'Connections dump:',
		...status.connections.map(full),
	])
}

const WORDS: Readonly<Record<string, (status: ServerStatus) => string>> = {
	ruok: () => 'imok',
	isro: () => 'rw',
	srvr: (status) => `Zookeeper version: ${ZOOKEEPER_VERSION}\n${counters(status)}`,
	stat: (status) =>
		`Zookeeper version: ${ZOOKEEPER_VERSION}\nClients:\n${lines(status.connections.map(brief))}\n${counters(status)}`,
	mntr: monitor,
	conf: configuration,
	cons: (status) => `${lines(status.connections.map(full))}\n`,
	envi: () => lines(['Environment:', `zookeeper.version=${ZOOKEEPER_VERSION}`]),
	wchs: ({ watches }) =>
		`${watches.watchers} connections watching ${watches.paths} paths\nTotal watches:${watches.watches}\n`,
	wchc: watchesBySession,
	wchp: watchesByPath,
	dump,
	dirs: ({ disk }) => `datadir_size: ${disk.snapshotBytes}\nlogdir_size: ${disk.logBytes}\n`,
	gtmk: () => '306',
	crst: () => 'Connection stats reset.\n',
	srst: () => 'Server stats reset.\n',
}

/** Words that Apache knows and that are never served here: there is no tracing and there are no digests of the tree. */
const REFUSED: ReadonlySet<string> = new Set(['stmk', 'hash'])

/** Whether the first four bytes of a connection are a word. */
export function isWord(word: string): boolean {
	return Object.hasOwn(WORDS, word) || REFUSED.has(word)
}

/** Words that set counts back, which the server has to do. */
export const RESETS: ReadonlySet<string> = new Set(['crst', 'srst'])

/** Whether a word is served; `allowed` is the whitelist (`*` for all). */
export function isAllowedWord(word: string, allowed: ReadonlySet<string>): boolean {
	return Object.hasOwn(WORDS, word) && (allowed.has('*') || allowed.has(word))
}

/** The answer to a word; `allowed` is the whitelist (`*` for all). */
export function answerWord(word: string, allowed: ReadonlySet<string>, status: () => ServerStatus): string {
	const answer = WORDS[word]
	if (answer === undefined || !isAllowedWord(word, allowed)) {
		return `${word} is not executed because it is not in the whitelist.\n`
	}
	return answer(status())
}
