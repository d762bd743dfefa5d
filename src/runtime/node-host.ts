/**
 * Claims on a machine by bound local sockets. On Linux an abstract name decides races within one network namespace and
 * never goes stale; a socket file in the folder itself (or, if its path is too long, in the temporary folder) is seen from
 * other containers too. A stale file shows by connecting to it.
 */

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Host, HostClaim } from './ports.js'

/** Longest path of a socket file that every system takes. */
const SOCKET_PATH_MAX = 100

function readOrEmpty(path: string): string {
	try {
		return fs.readFileSync(path, 'utf8')
	} catch {
		// Not Linux, or no such file: the caller lives without.
		return ''
	}
}

/** Binds a local name; null when it is taken. */
function bind(name: string): Promise<net.Server | null> {
	return new Promise((resolve, reject) => {
		const server = net.createServer((socket) => socket.destroy())
		server.once('error', (error: NodeJS.ErrnoException) => {
			if (error.code === 'EADDRINUSE') resolve(null)
			else reject(error)
		})
		server.listen(name, () => {
			server.unref()
			resolve(server)
		})
	})
}

function isAnswered(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = net.connect(path)
		socket.once('connect', () => {
			socket.destroy()
			resolve(true)
		})
		socket.once('error', () => resolve(false))
	})
}

function close(server: net.Server): Promise<void> {
	return new Promise((resolve) => server.close(() => resolve()))
}

export class NodeHost implements Host {
	readonly pid = process.pid
	readonly startedMs = Math.round(Date.now() - process.uptime() * 1000)
	readonly bootId = readOrEmpty('/proc/sys/kernel/random/boot_id').trim()

	async claim(directory: string): Promise<HostClaim | null> {
		const real = fs.realpathSync(directory)
		const digest = createHash('sha256').update(real).digest('hex').slice(0, 32)
		const held: net.Server[] = []
		const release = async (): Promise<void> => {
			for (const server of held.splice(0)) await close(server)
		}
		if (process.platform === 'linux') {
			const abstract = await bind(`\0kcli-${digest}`)
			if (abstract === null) return null
			held.push(abstract)
		}
		const inside = join(real, '.kcli.sock')
		const path = Buffer.byteLength(inside) <= SOCKET_PATH_MAX ? inside : join(tmpdir(), `kcli-${digest}.sock`)
		let file = await bind(path)
		if (file === null && !(await isAnswered(path))) {
			fs.rmSync(path, { force: true })
			file = await bind(path)
		}
		if (file === null) {
			await release()
			return null
		}
		held.push(file)
		return { release }
	}

	lockHolder(inode: number): number | null {
		for (const line of readOrEmpty('/proc/locks').split('\n')) {
			// "1: POSIX  ADVISORY  WRITE 4242 08:01:131 0 EOF"
			const fields = line.trim().split(/\s+/)
			if (fields[1] === '->' || fields.length < 8) continue
			if (fields[5]?.split(':')[2] === String(inode)) return Number(fields[4])
		}
		return null
	}
}
