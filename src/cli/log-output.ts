/** The broker's log lines: to stderr or a rotating file, as text or JSON. */

import { closeSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { type LogFields, Logger, type LogLevel, type LogSink } from '../runtime/logger.js'

export interface LogOutputOptions {
	readonly level: LogLevel
	readonly format: 'text' | 'json'
	/** Null: stderr. */
	readonly file: string | null
}

/** A log file is put aside at this size; one older file is kept. */
const ROTATE_BYTES = 64 * 1024 * 1024

export function openLogger({ level, format, file }: LogOutputOptions): Logger {
	const write = file === null ? (line: string): boolean => process.stderr.write(line) : rotatingFile(file)
	const sink: LogSink = ({ level: at, scope, message, fields }) => {
		const time = new Date().toISOString()
		if (format === 'json') write(`${JSON.stringify({ time, level: at, scope, message, ...plain(fields) })}\n`)
		else
			write(`${time} ${at.toUpperCase().padEnd(5)} ${scope === '' ? '' : `${scope}: `}${message}${fieldText(fields)}\n`)
	}
	return new Logger(sink, '', level)
}

function plain(fields: LogFields): Record<string, unknown> {
	return Object.fromEntries(
		Object.entries(fields).map(([key, value]) => [key, typeof value === 'bigint' ? value.toString() : value]),
	)
}

function fieldText(fields: LogFields): string {
	let text = ''
	for (const [key, value] of Object.entries(fields)) {
		if (value === null || value === undefined) continue
		const shown = String(value)
		text += ` ${key}=${/[\s"=]/.test(shown) ? JSON.stringify(shown) : shown}`
	}
	return text
}

function rotatingFile(path: string): (line: string) => boolean {
	let fd = openSync(path, 'a')
	let size = statSync(path).size
	return (line) => {
		if (size > ROTATE_BYTES) {
			closeSync(fd)
			renameSync(path, `${path}.1`)
			fd = openSync(path, 'a')
			size = 0
		}
		size += writeSync(fd, line)
		return true
	}
}
