/**
 * Structured log lines. A scope a module; the sink is injected, so that tests read lines and the broker writes stderr.
 * One line an event: a message in words, then fields. No record data and no secrets.
 */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LogFields = Readonly<Record<string, string | number | boolean | bigint | null | undefined>>

export interface LogLine {
	readonly level: LogLevel
	readonly scope: string
	readonly message: string
	readonly fields: LogFields
}

export type LogSink = (line: LogLine) => void

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 }

export class Logger {
	readonly #sink: LogSink
	readonly #scope: string
	readonly #level: LogLevel

	constructor(sink: LogSink, scope: string, level: LogLevel) {
		this.#sink = sink
		this.#scope = scope
		this.#level = level
	}

	scoped(scope: string): Logger {
		return new Logger(this.#sink, scope, this.#level)
	}

	debug(message: string, fields: LogFields = {}): void {
		this.#write('debug', message, fields)
	}

	info(message: string, fields: LogFields = {}): void {
		this.#write('info', message, fields)
	}

	warn(message: string, fields: LogFields = {}): void {
		this.#write('warn', message, fields)
	}

	error(message: string, fields: LogFields = {}): void {
		this.#write('error', message, fields)
	}

	#write(level: LogLevel, message: string, fields: LogFields): void {
		if (RANK[level] >= RANK[this.#level]) this.#sink({ level, scope: this.#scope, message, fields })
	}
}

/** A logger that keeps nothing. */
export const SILENT = new Logger(() => undefined, '', 'error')

/** Text of an unknown thrown value, for a field. */
export function errorText(error: unknown): string {
	return error instanceof Error ? error.message : String(error)
}
