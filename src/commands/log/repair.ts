import { BaseCommand } from '../../cli/base-command.js'
import { dataDirFlag } from '../../cli/flags/data-dir.js'
import { destructiveFlags, resultFlags } from '../../cli/flags/output.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class LogRepair extends BaseCommand {
	static override summary = 'Mend what log verify finds in partitions on disk, without their broker.'
	static override description =
		'Makes indexes, snapshots and epochs anew, cuts torn ends, takes damaged batches out and names the offsets that go with them; records that can be read stay. Every file that changes is kept in a backup folder first. Refused (exit 2) while a broker runs on the folder. Ends with 3 when something is wrong still.'
	static override usage = '<%= command.id %> PARTITION... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> .kcli-data --dry-run',
		'<%= config.bin %> <%= command.id %> orders:0 --yes',
		'<%= config.bin %> <%= command.id %> .kcli-data --yes --backup before-repair --json',
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
		backup: Flags.string({
			description: 'Folder for the files as they were. Default: beside the data folder, named after it and the time.',
			helpValue: 'DIR',
		}),
		...destructiveFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(LogRepair)
		const { repairLogs } = await import('../../cli/log-repair.js')
		this.exitNow(await repairLogs(argv as string[], flags))
	}
}
