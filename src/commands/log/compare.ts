import { BaseCommand } from '../../cli/base-command.js'
import { dataDirFlag } from '../../cli/flags/data-dir.js'
import { resultFlags } from '../../cli/flags/output.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class LogCompare extends BaseCommand {
	static override summary = "Compare two folders of one partition: replicas, copies, ours and Apache Kafka's."
	static override description =
		'Equal means the same records at the same offsets: key, value, headers, timestamp; codecs, batches and segments may differ. What is below either log start is left out. Tells the first differences by offset and field, and what only one of them has. Ends with 3 when they differ.'
	static override usage = '<%= command.id %> A B [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> .kcli-data/orders-0 other/orders-0',
		'<%= config.bin %> <%= command.id %> orders:0 other/orders-0 --bytes --json',
	]
	static override args = {
		a: Args.string({ description: "A partition's folder, or TOPIC:PARTITION.", required: true }),
		b: Args.string({ description: "A partition's folder, or TOPIC:PARTITION.", required: true }),
	}
	static override flags = {
		...dataDirFlag,
		bytes: Flags.boolean({ description: 'Batches, byte by byte, as replicas of one cluster have them.' }),
		count: Flags.integer({ char: 'c', description: 'Differences to list.', default: 20, min: 1 }),
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, args } = await this.parse(LogCompare)
		const { compareFolders } = await import('../../cli/log-compare.js')
		this.exitNow(await compareFolders([args.a, args.b], flags))
	}
}
