/** From what the layers below throw to what a user of the command line sees. The one place where the kinds are told apart. */

import { AuthenticationError, BrokerError, ConnectionError, UnsupportedError } from '../client/errors.js'
import { CliError, EXIT } from './errors.js'

export function toCliError(error: unknown): CliError {
	if (error instanceof CliError) return error
	if (error instanceof ConnectionError)
		return new CliError(error.message, EXIT.failed, 'is the broker up, and is -b right?', 'KCLI_CONNECTION')
	if (error instanceof BrokerError) return new CliError(error.message, EXIT.failed, null, `KCLI_${error.errorName}`)
	if (error instanceof UnsupportedError) return new CliError(error.message, EXIT.failed, null, 'KCLI_UNSUPPORTED')
	if (error instanceof AuthenticationError) return new CliError(error.message, EXIT.failed, null, 'KCLI_AUTHENTICATION')
	const message = error instanceof Error ? error.message : String(error)
	return new CliError(message, EXIT.failed, null, 'KCLI_UNEXPECTED')
}
