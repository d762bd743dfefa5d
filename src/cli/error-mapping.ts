/** From what the layers below throw to what a user of the command line sees. The one place where the kinds are told apart. */

import { CodecError } from '../base/compression.js'
import { AuthenticationError, BrokerError, ConnectionError, UnsupportedError } from '../client/errors.js'
import { CorruptBatch } from '../client/fetched.js'
import { ERROR } from '../protocol/errors.js'
import { CliError, EXIT } from './errors.js'

export function toCliError(error: unknown): CliError {
	if (error instanceof CliError) return error
	if (error instanceof ConnectionError)
		return new CliError(error.message, EXIT.failed, 'is the broker up, and is -b right?', 'KCLI_CONNECTION')
	if (error instanceof BrokerError) {
		const code = error.code === ERROR.REQUEST_TIMED_OUT ? EXIT.timedOut : EXIT.failed
		return new CliError(error.message, code, null, `KCLI_${error.errorName}`)
	}
	if (error instanceof UnsupportedError) return new CliError(error.message, EXIT.failed, null, 'KCLI_UNSUPPORTED')
	if (error instanceof AuthenticationError) return new CliError(error.message, EXIT.failed, null, 'KCLI_AUTHENTICATION')
	if (error instanceof CodecError) return new CliError(error.message, EXIT.failed, null, 'KCLI_CODEC')
	if (error instanceof CorruptBatch) {
		const { topic, partition, offset, nextOffset } = error
		const isTold = nextOffset > offset && nextOffset - offset <= 2 ** 31
		const hint = isTold ? `what follows it: kcli consume ${topic} -p ${partition} -o ${nextOffset}` : null
		return new CliError(error.message, EXIT.failed, hint, 'KCLI_CORRUPT_BATCH')
	}
	const message = error instanceof Error ? error.message : String(error)
	return new CliError(message, EXIT.failed, null, 'KCLI_UNEXPECTED')
}
