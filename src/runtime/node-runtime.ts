/** The real ports together; made once a process, by its entry point. */

import { NodeClock, NodeRandom } from './node-clock.js'
import { NodeCompression } from './node-compression.js'
import { installNativeCrc32c } from './node-crc.js'
import { NodeDisk } from './node-disk.js'
import { NodeHost } from './node-host.js'
import { NodeNetwork } from './node-net.js'
import type { Runtime } from './ports.js'

export function nodeRuntime(): Runtime {
	installNativeCrc32c()
	return {
		clock: new NodeClock(),
		random: new NodeRandom(),
		disk: new NodeDisk(),
		network: new NodeNetwork(),
		host: new NodeHost(),
		compression: new NodeCompression(),
	}
}
