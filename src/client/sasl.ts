/** SASL on a fresh connection: PLAIN and SCRAM, by SaslHandshake 1 and SaslAuthenticate (KIP-43, KIP-84, KIP-152). */

import { ERROR } from '../protocol/errors.js'
import { saslAuthenticate, saslHandshake } from '../protocol/messages/handshake.js'
import type { Family } from '../protocol/schema.js'
import type { Digest, Random } from '../runtime/ports.js'
import type { BrokerConnection } from './connection.js'
import { AuthenticationError, BrokerError, UnsupportedError } from './errors.js'
import { ScramClient } from './scram.js'

export const SASL_MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
export type SaslMechanism = (typeof SASL_MECHANISMS)[number]

export interface SaslSettings {
	readonly mechanism: SaslMechanism
	readonly username: string
	readonly password: string
}

/**
 * For `ConnectionSettings.authenticate`: rejects with {@link AuthenticationError} when the broker does not take us. A
 * broker that limits the life of a login closes the connection when it is over; the next one logs in anew.
 */
export function saslAuthenticator(
	settings: SaslSettings,
	digest: Digest,
	random: Random,
): (connection: BrokerConnection) => Promise<void> {
	return async (connection) => {
		const { mechanism, username, password } = settings
		if (connection.versionOf(saslHandshake as unknown as Family) < 1) {
			throw new UnsupportedError(`${connection.address} is older than Kafka 1.0: its SASL is not spoken here`)
		}
		const answer = await connection.send(saslHandshake, 1, { mechanism })
		if (answer.errorCode === ERROR.UNSUPPORTED_SASL_MECHANISM) {
			const offered = answer.mechanisms.length === 0 ? 'none' : answer.mechanisms.join(', ')
			throw new AuthenticationError(`${connection.address} does not offer ${mechanism}; it offers ${offered}`)
		}
		if (answer.errorCode === ERROR.ILLEGAL_SASL_STATE) {
			throw new AuthenticationError(`${connection.address} is a listener without SASL`)
		}
		if (answer.errorCode !== ERROR.NONE) throw new BrokerError(answer.errorCode, `SaslHandshake ${mechanism}`)
		const step = (bytes: Buffer): Promise<Buffer> => authenticate(connection, bytes)
		if (mechanism === 'PLAIN') {
			await step(Buffer.from(`\0${username}\0${password}`))
			return
		}
		const name = mechanism === 'SCRAM-SHA-256' ? 'sha256' : 'sha512'
		const nonce = random.bytes(24).toString('base64').replaceAll(',', '')
		const scram = new ScramClient(name, username, password, nonce, digest)
		scram.verify(await step(await scram.final(await step(scram.first()))))
	}
}

async function authenticate(connection: BrokerConnection, authBytes: Buffer): Promise<Buffer> {
	const answer = await connection.request(saslAuthenticate, { authBytes })
	if (answer.errorCode !== ERROR.NONE) {
		throw new AuthenticationError(`${connection.address}: ${answer.errorMessage ?? 'the broker refuses the login'}`)
	}
	return answer.authBytes
}
