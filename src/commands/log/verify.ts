import { BaseCommand } from '../../cli/base-command.js'
import { dataDirFlag } from '../../cli/flags/data-dir.js'
import { resultFlags } from '../../cli/flags/output.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class LogVerify extends BaseCommand {
	static override summary = 'Check partitions on disk: batches, records, indexes, epochs, producers, checkpoints.'
	static override description =
		'Reads every byte of folders of kcli and of Apache Kafka, changes nothing, needs no broker. Each fault is told by file, byte and offset. Ends with 3 when there is one. Under a running broker the newest bytes may seem cut.'
	static override usage = '<%= command.id %> PARTITION... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> .kcli-data',
		'<%= config.bin %> <%= command.id %> orders:0 --shallow',
		'<%= config.bin %> <%= command.id %> .kcli-data --json --jobs 4',
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
		shallow: Flags.boolean({ description: 'Leave out the records: batches and their CRCs, indexes, the rest.' }),
		jobs: Flags.integer({ description: 'Partitions at a time. Default: one for each processor.', min: 1 }),
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(LogVerify)
		const { verifyLogs } = await import('../../cli/log-verify.js')
		this.exitNow(await verifyLogs(argv as string[], flags))
	}
}
