/** Ports for peers that cannot take port 0. */

import { createServer } from 'node:net'

/** `count` ports that were free a moment ago, each with the port 1000 above it free too. */
export async function freePorts(count: number): Promise<number[]> {
	const found: number[] = []
	while (found.length < count) {
		const port = await tryPort(0)
		if (port === null || port > 64_000 || found.includes(port) || (await tryPort(port + 1000)) === null) continue
		found.push(port)
	}
	return found
}

function tryPort(port: number): Promise<number | null> {
	return new Promise((resolve) => {
		const server = createServer()
		server.once('error', () => resolve(null))
		server.listen(port, '127.0.0.1', () => {
			const address = server.address()
			const bound = typeof address === 'object' && address !== null ? address.port : null
			server.close(() => resolve(bound))
		})
	})
}
