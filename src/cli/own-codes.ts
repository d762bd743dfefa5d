/**
 * The codes that are ours and not Kafka's: what `code` in JSON may say beside Kafka's numbers, what each means, and whether
 * trying again may help. With `protocol/errors.ts` the one table of `kcli errors` and of every `retriable` in JSON.
 */

import { ERRORS, errorInfo } from '../protocol/errors.js'

export interface OwnCode {
	readonly code: string
	readonly retriable: boolean
	readonly text: string
}

const ROWS: readonly (readonly [string, boolean, string])[] = [
	['KCLI_AUTHENTICATION', false, 'The broker refused who we are.'],
	['KCLI_BACKUP_FAILED', false, 'Records could not be written to the backup file; nothing was deleted.'],
	['KCLI_BROKER_ID_TAKEN', false, 'Another broker with this id lives.'],
	['KCLI_CODEC', false, 'Compressed records cannot be unpacked.'],
	['KCLI_CONNECTION', true, 'No broker could be reached, a connection broke, or an answer did not come in time.'],
	['KCLI_CORRUPT_BATCH', false, 'A batch that the broker sent is damaged.'],
	['KCLI_DECLINED', false, 'The question was answered with no.'],
	['KCLI_DELIVERY', false, 'Records were not written; the first of them is named.'],
	['KCLI_DIR_LOCKED', false, 'Another process uses the data folder.'],
	['KCLI_DIR_MISMATCH', false, 'The data folder belongs to another broker or cluster.'],
	['KCLI_DISK', false, 'A file or folder cannot be read or written.'],
	['KCLI_FAILED', false, 'The command could not do its work; the message says why.'],
	['KCLI_INPUT', false, 'A piece of the input is no record.'],
	['KCLI_INTERNAL_TOPIC', false, "Refused: the topic is Kafka's own."],
	['KCLI_LOG_DAMAGE', false, 'A log or an index on disk is damaged.'],
	['KCLI_NO_BROKER', false, 'There is no broker of this id.'],
	['KCLI_PORT_TAKEN', false, 'Another process listens there.'],
	['KCLI_READ_ONLY', false, 'Refused: KCLI_READ_ONLY is set.'],
	['KCLI_TIMED_OUT', true, 'What was waited for did not come within --timeout.'],
	['KCLI_UNEXPECTED', false, 'Something that should not happen; KCLI_DEBUG=1 shows where.'],
	['KCLI_UNSUPPORTED', false, 'The broker lacks a call that the command needs.'],
	['KCLI_USAGE', false, 'The command line is wrong.'],
	['KCLI_ZK_CONNECTION_LOSS', true, 'The connection to ZooKeeper broke.'],
	['KCLI_ZK_SESSION_EXPIRED', true, 'The session with ZooKeeper ended.'],
	['KCLI_ZK_START_FAILED', false, 'ZooKeeper could not be started.'],
	['KCLI_ZK_TIMEOUT', true, 'ZooKeeper did not answer in time.'],
]

export const OWN_CODES: readonly OwnCode[] = ROWS.map(([code, retriable, text]) => ({ code, retriable, text }))

const byCode = new Map(OWN_CODES.map((each) => [each.code, each]))
const kafkaByName = new Map(ERRORS.map((each) => [each.name as string, each]))

/** Whether trying again may help: for Kafka's codes what its own client does, for ours what the table says. */
export function isRetriable(code: number | string): boolean {
	if (typeof code === 'number') return errorInfo(code).retriable
	const own = byCode.get(code)
	if (own !== undefined) return own.retriable
	// A broker's code that ended a command as a whole: `KCLI_NOT_CONTROLLER`.
	return kafkaByName.get(code.replace(/^KCLI_/, ''))?.retriable ?? false
}
