import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { resultFlags } from '../../cli/flags/output.js'
import { watchFlags } from '../../cli/flags/watch.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class GroupDescribe extends BaseCommand {
	static override summary = 'Show state, offsets, lag and members of consumer groups.'
	static override usage = '<%= command.id %> GROUP... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> billing',
		'<%= config.bin %> <%= command.id %> billing --section offsets -o tsv',
		"<%= config.bin %> <%= command.id %> -r 'bill.*' --json",
		'<%= config.bin %> <%= command.id %> billing -w --interval 5s',
	]
	static override strict = false
	static override args = {
		group: Args.string({ description: 'Name, or pattern with -r; several may be given.' }),
	}
	static override flags = {
		group: Flags.string({
			char: 'g',
			description: 'Group, as the argument.',
			helpValue: 'NAME',
			multiple: true,
			multipleNonGreedy: true,
		}),
		regex: Flags.boolean({ char: 'r', description: 'Names are regular expressions that fit whole names.' }),
		section: Flags.string({
			description: 'What to show: state, offsets, members; parted by commas.',
			multiple: true,
			multipleNonGreedy: true,
		}),
		by: Flags.string({ description: 'Sum offsets and lag by topic or by member.', options: ['topic', 'member'] }),
		lag: Flags.string({
			description: "Only partitions that are so far behind: '>100', '>=100', '<5', '=0'; 100 is '>=100'.",
			helpValue: 'LAG',
		}),
		...connectionFlags,
		...resultFlags,
		...watchFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(GroupDescribe)
		const { describeGroups } = await import('../../cli/group-describe.js')
		const { watching } = await import('../../cli/watch.js')
		this.exitNow(await watching('group:describe', flags, (each) => describeGroups(argv as string[], each)))
	}
}
