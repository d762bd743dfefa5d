/**
 * The client's half of SCRAM (RFC 5802) as Kafka speaks it: no channel binding, user and password as UTF-8 without
 * further preparation. Pure but for the digest port; the nonce is given.
 *
 * | step         | message                                                                 |
 * |--------------|-------------------------------------------------------------------------|
 * | client first | `n,,n=user,r=nonce`                                                     |
 * | server first | `r=nonce+theirs,s=salt,i=iterations`                                    |
 * | client final | `c=biws,r=nonce+theirs,p=proof`                                         |
 * | server final | `v=signature` or `e=error`                                              |
 */

import type { Digest, DigestName } from '../runtime/ports.js'
import { AuthenticationError } from './errors.js'

const ITERATIONS_MIN = 4096
/** A server that asks for more only wants our time. */
const ITERATIONS_MAX = 10_000_000

export class ScramClient {
	readonly #name: DigestName
	readonly #password: string
	readonly #nonce: string
	readonly #digest: Digest
	readonly #firstBare: string
	#serverSignature: Buffer | null = null

	constructor(name: DigestName, username: string, password: string, nonce: string, digest: Digest) {
		this.#name = name
		this.#password = password
		this.#nonce = nonce
		this.#digest = digest
		this.#firstBare = `n=${username.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${nonce}`
	}

	first(): Buffer {
		return Buffer.from(`n,,${this.#firstBare}`)
	}

	/** Answer to the server's first message. Rejects with {@link AuthenticationError} for one that cannot be. */
	async final(serverFirst: Buffer): Promise<Buffer> {
		const text = serverFirst.toString('utf8')
		const match = /^r=([^,]+),s=([A-Za-z0-9+/=]+),i=(\d+)(?:,|$)/.exec(text)
		if (match === null) throw new AuthenticationError('SCRAM: the broker sent what is no first message')
		const [, nonce, salt, count] = match as unknown as [string, string, string, string]
		const iterations = Number(count)
		if (!nonce.startsWith(this.#nonce) || nonce.length === this.#nonce.length) {
			throw new AuthenticationError("SCRAM: the broker's nonce does not begin with ours")
		}
		if (iterations < ITERATIONS_MIN || iterations > ITERATIONS_MAX) {
			throw new AuthenticationError(`SCRAM: ${count} iterations are outside ${ITERATIONS_MIN} to ${ITERATIONS_MAX}`)
		}
		const digest = this.#digest
		const password = Buffer.from(this.#password, 'utf8')
		const salted = await digest.deriveKey(this.#name, password, Buffer.from(salt, 'base64'), iterations)
		const clientKey = digest.hmac(this.#name, salted, Buffer.from('Client Key'))
		const storedKey = digest.hash(this.#name, clientKey)
		const withoutProof = `c=biws,r=${nonce}`
		const message = Buffer.from(`${this.#firstBare},${text},${withoutProof}`)
		const proof = digest.hmac(this.#name, storedKey, message)
		for (let i = 0; i < proof.length; i++) proof[i] = (proof[i] as number) ^ (clientKey[i] as number)
		const serverKey = digest.hmac(this.#name, salted, Buffer.from('Server Key'))
		this.#serverSignature = digest.hmac(this.#name, serverKey, message)
		return Buffer.from(`${withoutProof},p=${proof.toString('base64')}`)
	}

	/** The server knows the password too. Throws {@link AuthenticationError} when it does not show it. */
	verify(serverFinal: Buffer): void {
		const text = serverFinal.toString('utf8')
		const failure = /^e=([^,]*)/.exec(text)
		if (failure !== null) throw new AuthenticationError(`SCRAM: ${failure[1]}`)
		const match = /^v=([A-Za-z0-9+/=]+)(?:,|$)/.exec(text)
		const signature = Buffer.from(match?.[1] ?? '', 'base64')
		if (this.#serverSignature === null || !this.#digest.equal(signature, this.#serverSignature)) {
			throw new AuthenticationError('SCRAM: the broker does not know the password either: this is not the real one')
		}
	}
}
