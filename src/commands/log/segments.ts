import { BaseCommand } from '../../cli/base-command.js'
import { dataDirFlag } from '../../cli/flags/data-dir.js'
import { resultFlags } from '../../cli/flags/output.js'
import { Args } from '../../cli/oclif.js'

export default class LogSegments extends BaseCommand {
	static override summary = 'List the segments of partitions on disk, and check logs and indexes, without a broker.'
	static override description =
		'Ends with 3 when a log or an index is damaged. A missing index is made anew by the broker.'
	static override usage = '<%= command.id %> PARTITION... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> .kcli-data',
		'<%= config.bin %> <%= command.id %> orders:0',
		'<%= config.bin %> <%= command.id %> .kcli-data/orders-0 --json',
	]
	static override strict = false
	static override args = {
		partition: Args.string({
			description: "A partition's folder, a data folder, or TOPIC:PARTITION; several may be given.",
			required: true,
		}),
	}
	static override flags = {
		...dataDirFlag,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(LogSegments)
		const { listSegments } = await import('../../cli/log-segments.js')
		this.exitNow(await listSegments(argv as string[], flags))
	}
}
