/** What can go wrong between us and a cluster: a broker's code, the network, time. */

import { errorInfo, errorLabel } from '../protocol/errors.js'

/** A broker answered an error code. */
export class BrokerError extends Error {
	override readonly name = 'BrokerError'
	constructor(
		readonly code: number,
		/** What was asked, and of what: `CreateTopics orders`. */
		readonly what: string,
		/** The broker's own words, when it gave some. */
		readonly brokerMessage: string | null = null,
	) {
		super(`${what}: ${brokerMessage ?? errorInfo(code).text} [${errorLabel(code)}]`)
	}

	get errorName(): string {
		return errorInfo(this.code).name
	}

	get retriable(): boolean {
		return errorInfo(this.code).retriable
	}
}

/** No broker could be reached, a connection broke, or an answer did not come in time. Retriable. */
export class ConnectionError extends Error {
	override readonly name = 'ConnectionError'
	readonly retriable = true
	constructor(
		readonly address: string,
		message: string,
		override readonly cause?: unknown,
	) {
		super(`${address}: ${message}`)
	}
}

/** The broker does not serve the request, or no version that we can speak. */
export class UnsupportedError extends Error {
	override readonly name = 'UnsupportedError'
}

/** The broker refused who we are. */
export class AuthenticationError extends Error {
	override readonly name = 'AuthenticationError'
}
