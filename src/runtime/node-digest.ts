/** The digest port over Node's `crypto`. */

import { createHash, createHmac, pbkdf2, timingSafeEqual } from 'node:crypto'
import type { Digest, DigestName } from './ports.js'

const BYTES: Readonly<Record<DigestName, number>> = { sha256: 32, sha512: 64 }

export class NodeDigest implements Digest {
	hash(name: DigestName, data: Uint8Array): Buffer {
		return createHash(name).update(data).digest()
	}

	hmac(name: DigestName, key: Uint8Array, data: Uint8Array): Buffer {
		return createHmac(name, key).update(data).digest()
	}

	deriveKey(name: DigestName, password: Uint8Array, salt: Uint8Array, iterations: number): Promise<Buffer> {
		return new Promise((resolve, reject) => {
			pbkdf2(password, salt, iterations, BYTES[name], name, (error, key) =>
				error === null ? resolve(key) : reject(error),
			)
		})
	}

	equal(a: Uint8Array, b: Uint8Array): boolean {
		return a.length === b.length && timingSafeEqual(a, b)
	}
}
