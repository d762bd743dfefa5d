/** Flags of every command that talks to a cluster. */

import { Flags } from '../oclif.js'

export const connectionFlags = {
	'bootstrap-server': Flags.string({
		char: 'b',
		aliases: ['brokers', 'bootstrap-servers', 'broker-list'],
		description: 'Brokers to ask first: host:port, parted by commas. Default localhost:9092.',
		env: 'KCLI_BOOTSTRAP_SERVERS',
		helpGroup: 'CONNECTION',
	}),
	property: Flags.string({
		char: 'X',
		aliases: ['command-property'],
		description: "One client property, by Java's or librdkafka's name: security.protocol=SASL_SSL.",
		helpValue: 'KEY=VALUE',
		helpGroup: 'CONNECTION',
		multiple: true,
		multipleNonGreedy: true,
	}),
	'command-config': Flags.string({
		aliases: ['config-file'],
		// kcat's letter.
		charAliases: ['F'],
		description: 'File of client properties (Java).',
		helpValue: 'FILE',
		helpGroup: 'CONNECTION',
	}),
	'log-level': Flags.string({
		description:
			'Tell on stderr what is asked of whom: info (connections, retries), debug (each request). Default warn.',
		options: ['error', 'warn', 'info', 'debug'],
		helpGroup: 'CONNECTION',
	}),
	verbose: Flags.boolean({ char: 'v', description: 'Short for --log-level debug.', helpGroup: 'CONNECTION' }),
	timeout: Flags.string({
		description: 'Longest time for one operation, retries included.',
		default: '30s',
		helpGroup: 'CONNECTION',
	}),
}
