import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { resultFlags } from '../../cli/flags/output.js'
import { topicPatternFlags } from '../../cli/flags/topic.js'
import { watchFlags } from '../../cli/flags/watch.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class TopicDescribe extends BaseCommand {
	static override summary = 'Show partitions, leaders, replicas, offsets and settings of topics.'
	static override usage = '<%= command.id %> TOPIC... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> orders',
		'<%= config.bin %> <%= command.id %> orders --section partitions,groups',
		"<%= config.bin %> <%= command.id %> -r 'order.*' -o wide",
		'<%= config.bin %> <%= command.id %> orders --json',
	]
	static override strict = false
	static override args = {
		topic: Args.string({ description: 'Name, or pattern with -r; several may be given.' }),
	}
	static override flags = {
		...topicPatternFlags,
		section: Flags.string({
			description: 'What to show: summary, partitions, offsets, configs, groups; parted by commas.',
			multiple: true,
			multipleNonGreedy: true,
		}),
		stable: Flags.boolean({ description: 'Also the last stable offset: up to it all transactions have ended.' }),
		...connectionFlags,
		...resultFlags,
		...watchFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(TopicDescribe)
		const { describeTopics } = await import('../../cli/topic-describe.js')
		const { watching } = await import('../../cli/watch.js')
		this.exitNow(await watching('topic:describe', flags, (each) => describeTopics(argv as string[], each)))
	}
}
