/** Reads `test/fixtures/wire/*.hex`: requests and answers of real brokers and clients, as bytes and as Kafka's JSON. */

import { readdirSync, readFileSync } from 'node:fs'

export interface GoldenFrame {
	readonly file: string
	readonly direction: 'request' | 'response'
	readonly api: number
	readonly version: number
	readonly correlation: number
	readonly client: string | null
	readonly json: Record<string, unknown>
	/** Bytes that the sender wrote past the end of the message. */
	readonly leftOver: number
	/** The whole frame, length included. */
	readonly bytes: Buffer
}

const FOLDER = new URL('../fixtures/wire/', import.meta.url)

export function goldenFiles(): string[] {
	return readdirSync(FOLDER).filter((name) => name.endsWith('.hex'))
}

export function readGolden(file: string): GoldenFrame[] {
	const frames: GoldenFrame[] = []
	let head: RegExpExecArray | null = null
	let json = ''
	let hex = ''
	let leftOver = 0
	const flush = (): void => {
		if (head === null || hex === '') return
		frames.push({
			file,
			direction: head[1] === '>' ? 'request' : 'response',
			api: Number(head[2]),
			version: Number(head[3]),
			correlation: Number(head[4]),
			client: head[6] === undefined ? null : (JSON.parse(head[6]) as string | null),
			// A version that the broker does not know has no JSON: such frames are only answered, never decoded.
			json: json.startsWith('{') ? (JSON.parse(json) as Record<string, unknown>) : {},
			leftOver,
			bytes: Buffer.from(hex, 'hex'),
		})
		head = null
		hex = ''
	}
	for (const line of readFileSync(new URL(file, FOLDER), 'utf8').split('\n')) {
		if (line.startsWith('>') || line.startsWith('<')) {
			flush()
			head = /^([><]) api=(-?\d+) version=(-?\d+) correlation=(-?\d+) header=(\d+) bytes=\d+(?: client=(.*))?$/.exec(
				line,
			)
			leftOver = 0
		} else if (line.startsWith('= ')) {
			json = line.slice(2)
			const more = / left over: (\d+) bytes$/.exec(json)
			if (more !== null) {
				leftOver = Number(more[1])
				json = json.slice(0, more.index)
			}
		} else if (/^[0-9a-f]+$/.test(line)) hex += line
		else if (line === '') flush()
	}
	flush()
	return frames
}
