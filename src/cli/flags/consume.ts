/** Flags of `kcli consume`. */

import { Flags } from '../oclif.js'
import { noColorFlag } from './output.js'

const FILTER = {
	helpValue: 'PATTERN',
	multiple: true,
	multipleNonGreedy: true,
	helpGroup: 'SELECTION',
} as const

export const consumeFlags = {
	topic: Flags.string({
		char: 't',
		description: 'Topic, as the argument.',
		helpValue: 'NAME',
		multiple: true,
		multipleNonGreedy: true,
		helpGroup: 'SELECTION',
	}),
	regex: Flags.boolean({
		char: 'r',
		description: 'Names are regular expressions that fit whole names.',
		helpGroup: 'SELECTION',
	}),
	internal: Flags.boolean({ description: "With -r: also Kafka's own topics.", helpGroup: 'SELECTION' }),
	partition: Flags.string({
		char: 'p',
		aliases: ['partitions'],
		description: 'Only these partitions: 0,2,5-7.',
		helpValue: 'LIST',
		helpGroup: 'SELECTION',
	}),
	offset: Flags.string({
		char: 'o',
		aliases: ['from'],
		description:
			'Where to begin, and to end: start, end, stored, N, -N (last N of each partition), +N, N:M, :end, @TIME, @T1:T2 ' +
			'(TIME: 2024-05-01T10:00Z, epoch s or ms, now, today, -1h), s@MS, e@MS. Default start; with -g what the group has ' +
			'committed, and this where it has not.',
		multiple: true,
		multipleNonGreedy: true,
		helpGroup: 'SELECTION',
	}),
	to: Flags.string({
		description: 'Where to end, as in -o A:B; that offset is not part of it.',
		helpValue: 'OFFSET',
		helpGroup: 'ENDING',
	}),
	'from-beginning': Flags.boolean({ description: 'As -o start.', exclusive: ['offset'], helpGroup: 'SELECTION' }),
	count: Flags.integer({
		char: 'c',
		aliases: ['max-messages', 'num'],
		charAliases: ['n'],
		description: 'End after so many records.',
		min: 0,
		helpValue: 'N',
		helpGroup: 'ENDING',
	}),
	exit: Flags.boolean({ char: 'e', description: 'End at what is the end of each partition now.', helpGroup: 'ENDING' }),
	tail: Flags.integer({
		description: 'The last N records over all partitions, by time; then end.',
		min: 1,
		helpValue: 'N',
		exclusive: ['offset', 'to', 'count', 'group', 'from-beginning'],
		helpGroup: 'ENDING',
	}),
	'latest-per-key': Flags.boolean({
		description: 'Of each key only its last record, in order of time, a null too; then end. Without a key: left out.',
		exclusive: ['count', 'group', 'tail', 'merge', 'idle'],
		helpGroup: 'SELECTION',
	}),
	merge: Flags.boolean({
		description: 'All partitions in one order of time. Needs an end: -e, or a range.',
		exclusive: ['group', 'tail', 'idle'],
		helpGroup: 'OUTPUT',
	}),
	rack: Flags.string({
		description: 'Read from replicas in this rack, where the brokers have some. Also -X client.rack=.',
		helpValue: 'RACK',
		helpGroup: 'CONNECTION',
	}),
	idle: Flags.string({
		aliases: ['timeout-ms'],
		description: 'End when nothing came for so long; exit 4 when -c was not reached.',
		helpValue: 'DUR',
		helpGroup: 'ENDING',
	}),
	group: Flags.string({
		char: 'g',
		description: 'Read as a member of this group, and commit what was printed.',
		helpGroup: 'SELECTION',
	}),
	commit: Flags.boolean({
		description: 'With -g: commit (default), or not.',
		allowNo: true,
		default: true,
		helpGroup: 'SELECTION',
	}),
	format: Flags.string({
		char: 'f',
		description:
			'How a record is printed: %s value, %k key, %t topic, %p partition, %o offset, %T time in ms, %d{iso} time, ' +
			'%h headers, %H{name} one, %S %K lengths (-1 null), %R binary length, %e leader epoch, %v{hex|base64|json}, ' +
			String.raw`%%, \n \t \xNN. Default '%s\n'.`,
		exclusive: ['json'],
		helpGroup: 'OUTPUT',
	}),
	json: Flags.boolean({ char: 'J', description: 'Records as JSON lines, without loss.', helpGroup: 'OUTPUT' }),
	output: Flags.string({
		description: 'ndjson is -J. KCLI_OUTPUT=json is -J too.',
		options: ['ndjson', 'json', 'value'],
		helpGroup: 'OUTPUT',
	}),
	'meta-only': Flags.boolean({
		description: 'Where and when, sizes, but no key, value or headers.',
		helpGroup: 'OUTPUT',
	}),
	decode: Flags.string({
		description: "Records of Kafka's own topics in words, as JSON lines.",
		options: ['offsets', 'txn'],
		exclusive: ['format', 'meta-only'],
		helpGroup: 'OUTPUT',
	}),
	'key-delimiter': Flags.string({
		char: 'K',
		description: 'Print the key and this before the value.',
		helpValue: 'DELIM',
		helpGroup: 'OUTPUT',
	}),
	delimiter: Flags.string({
		char: 'D',
		description: 'Print this after each record instead of a line feed.',
		helpValue: 'DELIM',
		helpGroup: 'OUTPUT',
	}),
	'null-value': Flags.string({
		char: 'Z',
		description: 'Print this for a null key or value. Default: nothing.',
		helpValue: 'TEXT',
		helpGroup: 'OUTPUT',
	}),
	grep: Flags.string({
		char: 'G',
		description:
			'Only records that fit: PATTERN or v:PATTERN in the value, k: in the key, h:NAME=PATTERN in a header; ! before it turns it. All must fit.',
		helpValue: 'FILTER',
		multiple: true,
		multipleNonGreedy: true,
		helpGroup: 'SELECTION',
	}),
	'filter-key': Flags.string({ description: 'As -G k:PATTERN.', ...FILTER }),
	'filter-value': Flags.string({ description: 'As -G v:PATTERN.', ...FILTER }),
	'filter-header': Flags.string({ description: 'As -G h:NAME=PATTERN.', ...FILTER, helpValue: 'NAME=PATTERN' }),
	isolation: Flags.string({
		description: 'committed leaves out what transactions have not committed.',
		options: ['committed', 'uncommitted'],
		default: 'committed',
		helpGroup: 'SELECTION',
	}),
	control: Flags.boolean({ description: 'Also control records (transaction markers).', helpGroup: 'SELECTION' }),
	quiet: Flags.boolean({ char: 'q', description: 'No notices on stderr.' }),
	'no-color': noColorFlag,
}
