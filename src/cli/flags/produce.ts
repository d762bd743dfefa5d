/** Flags of `kcli produce`. */

import { Flags } from '../oclif.js'
import { formFlag, outputFlags } from './output.js'

export const produceFlags = {
	topic: Flags.string({ char: 't', description: 'Topic, as the argument.', helpValue: 'NAME' }),
	partition: Flags.string({
		char: 'p',
		aliases: ['partitions'],
		exclusive: ['keep-partition'],
		description: 'Only to these partitions, 0,2,5-7; the key chooses where there are several. Default: all.',
		helpValue: 'LIST',
		helpGroup: 'RECORD',
	}),
	key: Flags.string({ char: 'k', description: 'Key of records that have none of their own.', helpGroup: 'RECORD' }),
	'key-delimiter': Flags.string({
		char: 'K',
		// kafkactl's letter.
		charAliases: ['S'],
		description: 'Parts key and value at its first place in a line.',
		helpValue: 'DELIM',
		helpGroup: 'INPUT',
	}),
	delimiter: Flags.string({
		char: 'D',
		description: 'Parts records. Only a line feed by default: a carriage return before it stays in the value.',
		helpValue: 'DELIM',
		helpGroup: 'INPUT',
	}),
	header: Flags.string({
		char: 'H',
		description: 'Header of every record; a name alone has the value null.',
		helpValue: 'NAME=VALUE',
		multiple: true,
		multipleNonGreedy: true,
		helpGroup: 'RECORD',
	}),
	null: Flags.boolean({ char: 'Z', description: 'Empty keys and values are null.', helpGroup: 'INPUT' }),
	'null-value': Flags.string({
		description: 'A value equal to this is null (a tombstone).',
		helpValue: 'TEXT',
		helpGroup: 'INPUT',
	}),
	input: Flags.string({
		description:
			'What the input is: a record a line (default), one record, JSON lines (of kcli, kcat, kaf, rpk), CSV with names, ' +
			'records by -f.',
		options: ['lines', 'file', 'json', 'csv', 'format'],
		helpGroup: 'INPUT',
	}),
	format: Flags.string({
		char: 'f',
		description: String.raw`How the input is made up, as consume -f prints it: '%k\t%s\n', '%R%s'. Implies --input format.`,
		helpGroup: 'INPUT',
	}),
	template: Flags.string({
		description:
			'Make --repeat records from this text (and -k), without input. Places: {{n}} {{uuid}} {{now}} {{ms}} {{int:A:B}} ' +
			'{{pick:a|b|c}} {{hex:N}}.',
		helpValue: 'TEXT',
		helpGroup: 'INPUT',
	}),
	file: Flags.string({
		char: 'l',
		description: 'Read this file instead of stdin.',
		helpValue: 'FILE',
		multiple: true,
		multipleNonGreedy: true,
		helpGroup: 'INPUT',
	}),
	strict: Flags.boolean({ description: 'JSON and CSV: an unknown field is a fault.', helpGroup: 'INPUT' }),
	'keep-partition': Flags.boolean({ description: "JSON and CSV: use the row's own partition.", helpGroup: 'INPUT' }),
	compression: Flags.string({
		char: 'z',
		aliases: ['compression-codec'],
		description: 'Compress batches.',
		options: ['none', 'gzip', 'snappy', 'lz4', 'zstd'],
		default: 'none',
		helpGroup: 'DELIVERY',
	}),
	acks: Flags.string({
		description: 'Replicas that must have a record: all, 1 (the leader) or 0 (nobody answers).',
		options: ['all', '-1', '1', '0'],
		default: 'all',
		helpGroup: 'DELIVERY',
	}),
	idempotent: Flags.boolean({
		description: 'Retries make no duplicates and keep the order. Default with --acks all.',
		allowNo: true,
		helpGroup: 'DELIVERY',
	}),
	partitioner: Flags.string({
		description: "How a key chooses its partition: as Java's clients do, as librdkafka does, or not at all.",
		options: ['java', 'librdkafka', 'random'],
		default: 'java',
		helpGroup: 'DELIVERY',
	}),
	timestamp: Flags.string({
		description: 'Time of every record. Default: now.',
		helpValue: 'TIME',
		helpGroup: 'RECORD',
	}),
	rate: Flags.string({ description: 'Most records a second.', helpValue: 'N', helpGroup: 'DELIVERY' }),
	repeat: Flags.integer({
		description: 'Send each record so many times.',
		min: 1,
		default: 1,
		helpValue: 'N',
		helpGroup: 'DELIVERY',
	}),
	create: Flags.boolean({
		description: "Create the topic when it is not there, with the broker's defaults.",
		helpGroup: 'DELIVERY',
	}),
	'stop-on-error': Flags.boolean({ description: 'End at the first record that is refused.', helpGroup: 'DELIVERY' }),
	tee: Flags.boolean({ char: 'T', description: 'Print to stdout what is sent.' }),
	unbuffered: Flags.boolean({
		char: 'u',
		description: 'Send each record at once instead of in batches.',
		helpGroup: 'DELIVERY',
	}),
	...outputFlags,
	output: formFlag,
}
