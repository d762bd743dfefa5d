/** Flags of every command that talks to a cluster. */

import { Flags } from '../oclif.js'

export { outputFlags } from './output.js'

export const connectionFlags = {
	'bootstrap-server': Flags.string({
		char: 'b',
		aliases: ['brokers', 'bootstrap-servers', 'broker-list'],
		description: 'Brokers to ask first: host:port, parted by commas. Default localhost:9092.',
		env: 'KCLI_BOOTSTRAP_SERVERS',
		helpGroup: 'CONNECTION',
	}),
	timeout: Flags.string({
		description: 'Longest time for one operation, retries included.',
		default: '30s',
		helpGroup: 'CONNECTION',
	}),
}
