/** Reads `test/fixtures/zk/wire/*.hex`: requests and answers of real ZooKeeper servers and clients, as bytes. */

import { readdirSync, readFileSync } from 'node:fs'

export interface GoldenExchange {
	readonly file: string
	/** `connect`, `create`, `event` … */
	readonly kind: string
	/** Whole frames with their length; null where there was none. */
	readonly request: Buffer | null
	readonly answer: Buffer | null
	/** The content of request and answer, as ZooKeeper's own classes print it. */
	readonly texts: readonly string[]
}

const FOLDER = new URL('../fixtures/zk/wire/', import.meta.url)

export function goldenExchanges(): GoldenExchange[] {
	const exchanges: GoldenExchange[] = []
	for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.hex'))) {
		const kind = /^(?:[0-9]{3}-|m11-)?([a-z0-9-]+)/.exec(file)?.[1] ?? ''
		for (const block of readFileSync(new URL(file, FOLDER), 'utf8').split('\n\n').slice(1)) {
			const hex = { '>': '', '<': '' }
			const texts: string[] = []
			let side: '>' | '<' = '>'
			for (const line of block.split('\n')) {
				if (line.startsWith('>') || line.startsWith('<')) side = line[0] as '>' | '<'
				else if (line.startsWith('=')) texts.push(line.slice(2))
				else if (/^[0-9a-f]+$/.test(line)) hex[side] += line
			}
			const bytes = (text: string): Buffer | null => (text === '' ? null : Buffer.from(text, 'hex'))
			exchanges.push({ file, kind, request: bytes(hex['>']), answer: bytes(hex['<']), texts })
		}
	}
	return exchanges
}
