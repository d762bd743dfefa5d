import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { resultFlags } from '../../cli/flags/output.js'
import { watchFlags } from '../../cli/flags/watch.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class GroupList extends BaseCommand {
	static override summary = 'List consumer groups with state and coordinator.'
	static override usage = '<%= command.id %> [GROUP...] [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %>',
		'<%= config.bin %> <%= command.id %> --lag --topic orders',
		'<%= config.bin %> <%= command.id %> --state empty -o name',
		'<%= config.bin %> <%= command.id %> --idle 7d',
	]
	static override strict = false
	static override args = {
		group: Args.string({ description: 'Name, or pattern with -r; several may be given. Default: all.' }),
	}
	static override flags = {
		regex: Flags.boolean({ char: 'r', description: 'Names are regular expressions that fit whole names.' }),
		state: Flags.string({
			description: 'Only groups in these states: stable, empty, preparing-rebalance …',
			multiple: true,
			multipleNonGreedy: true,
		}),
		type: Flags.string({
			description: 'Only groups of these types: classic, consumer.',
			multiple: true,
			multipleNonGreedy: true,
		}),
		topic: Flags.string({
			char: 't',
			helpValue: 'NAME',
			description: 'Only groups that committed offsets in this topic.',
			multiple: true,
			multipleNonGreedy: true,
		}),
		idle: Flags.string({
			description: 'Only groups that neither committed nor changed for so long; tells when each last did.',
			helpValue: 'DUR',
		}),
		lag: Flags.boolean({ description: 'Sum of records between committed offsets and ends.' }),
		...connectionFlags,
		...resultFlags,
		...watchFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(GroupList)
		const { listGroups } = await import('../../cli/group-list.js')
		const { watching } = await import('../../cli/watch.js')
		this.exitNow(await watching('group:list', flags, (each) => listGroups(argv as string[], each)))
	}
}
