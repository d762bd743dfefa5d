import { BaseCommand } from '../../cli/base-command.js'
import { dataDirFlag } from '../../cli/flags/data-dir.js'
import { noColorFlag } from '../../cli/flags/output.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class LogDump extends BaseCommand {
	static override summary = 'Print batches, records and index entries of log files, without a broker.'
	static override description =
		"Reads what Kafka's own tool reads, in its words or as NDJSON. Ends with 3 when a file is damaged."
	static override usage = '<%= command.id %> FILE... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> .kcli-data/orders-0/00000000000000000000.log',
		'<%= config.bin %> <%= command.id %> orders:0 --records --from 10 --to 20',
		'<%= config.bin %> <%= command.id %> orders:0 --deep --index --json',
	]
	static override strict = false
	static override args = {
		file: Args.string({
			description: "File, a partition's folder, or TOPIC:PARTITION; several may be given.",
			required: true,
		}),
	}
	static override flags = {
		records: Flags.boolean({ description: 'Also the records of each batch.' }),
		deep: Flags.boolean({ description: 'Decompress and read every record, to find damage inside batches.' }),
		index: Flags.boolean({ description: 'Of a folder also the offset, time and transaction indexes.' }),
		decode: Flags.string({
			description: "Records of Kafka's own topics in words.",
			options: ['offsets', 'txn'],
		}),
		from: Flags.integer({ description: 'First offset.', min: 0 }),
		to: Flags.integer({ description: 'Offset to stop before.', min: 0 }),
		...dataDirFlag,
		output: Flags.string({
			char: 'o',
			description: "Kafka's words (default), or one JSON object a line: ndjson, json. KCLI_OUTPUT=json is --json.",
			options: ['text', 'ndjson', 'json'],
		}),
		json: Flags.boolean({ description: 'Short for --output ndjson.', exclusive: ['output'] }),
		'no-color': noColorFlag,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(LogDump)
		const { dumpFiles } = await import('../../cli/log-dump.js')
		this.exitNow(await dumpFiles(argv as string[], flags))
	}
}
