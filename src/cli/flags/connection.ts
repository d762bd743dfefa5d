/** Flags of every command that talks to a cluster, and of every command that prints a result. */

import { Flags } from '@oclif/core'

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

export const outputFlags = {
	output: Flags.string({
		description: 'Form of the result.',
		options: ['table', 'wide', 'json', 'yaml', 'tsv', 'csv', 'name'],
		default: 'table',
		env: 'KCLI_OUTPUT',
		helpGroup: 'OUTPUT',
	}),
	json: Flags.boolean({ description: 'Short for --output json.', helpGroup: 'OUTPUT' }),
	quiet: Flags.boolean({ char: 'q', description: 'No notices on stderr.', helpGroup: 'OUTPUT' }),
}
