/** Native CRC-32C from `@node-rs/crc32` where its prebuilt binary loads; otherwise the portable table stays. */

import { createRequire } from 'node:module'
import { crc32c, portableCrc32c, setNativeCrc32c } from '../base/crc32c.js'

/** Uses the native package from the first CRC on: a command that reads no records does without loading it. */
export function installNativeCrc32c(): void {
	setNativeCrc32c((bytes, previous) => {
		setNativeCrc32c(portableCrc32c)
		loadNativeCrc32c()
		return crc32c(bytes, previous)
	})
}

/** Tries the native package and says which implementation is in use. */
export function loadNativeCrc32c(): 'native' | 'portable' {
	try {
		const native = createRequire(import.meta.url)('@node-rs/crc32') as typeof import('@node-rs/crc32')
		setNativeCrc32c((bytes, previous) => native.crc32c(bytes as Buffer, previous))
		return 'native'
	} catch {
		// No binary for this platform: slower, and just as right.
		return 'portable'
	}
}
