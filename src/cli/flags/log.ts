/** Flags of processes that log: level, form, where to. */

import type { Logger, LogLevel } from '../../runtime/logger.js'
import { openLogger } from '../log-output.js'
import { Flags } from '../oclif.js'

export const logFlags = {
	'log-level': Flags.string({
		description: 'Least level of log lines.',
		options: ['debug', 'info', 'warn', 'error'],
		default: 'info',
	}),
	'log-format': Flags.string({ description: 'Form of log lines.', options: ['text', 'json'], default: 'text' }),
	'log-file': Flags.string({
		description: 'Log to this file (rotated at 64 MiB) instead of stderr.',
		helpValue: 'FILE',
	}),
}

export function loggerOf(flags: { 'log-level': string; 'log-format': string; 'log-file': string | undefined }): Logger {
	return openLogger({
		level: flags['log-level'] as LogLevel,
		format: flags['log-format'] as 'text' | 'json',
		file: flags['log-file'] ?? null,
	})
}
