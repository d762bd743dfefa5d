import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { resultFlags } from '../../cli/flags/output.js'
import { topicPatternFlags } from '../../cli/flags/topic.js'
import { watchFlags } from '../../cli/flags/watch.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class TopicList extends BaseCommand {
	static override summary = 'List topics with partitions, replicas and faults.'
	static override usage = '<%= command.id %> [TOPIC...] [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %>',
		"<%= config.bin %> <%= command.id %> -r 'order.*' --sort size --lag",
		'<%= config.bin %> <%= command.id %> -o name | xargs -n1 echo',
		'<%= config.bin %> <%= command.id %> --only urp -w   # until they are back',
	]
	static override strict = false
	static override args = {
		topic: Args.string({ description: 'Name, or pattern with -r; several may be given. Default: all.' }),
	}
	static override flags = {
		...topicPatternFlags,
		only: Flags.string({
			description: 'Only topics in this state: under-replicated, without leader, below min.insync.replicas …',
			options: ['urp', 'offline', 'min-isr', 'overrides', 'empty', 'unread'],
		}),
		sort: Flags.string({
			description: 'Order: by name, or largest first.',
			options: ['name', 'partitions', 'size', 'count', 'lag'],
			default: 'name',
		}),
		size: Flags.boolean({ description: 'Bytes on disk, one replica a partition.' }),
		count: Flags.boolean({ description: 'Number of records: end minus start of each partition.' }),
		lag: Flags.boolean({ description: 'Largest lag of a group that reads it.' }),
		...connectionFlags,
		...resultFlags,
		...watchFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(TopicList)
		const { listTopics } = await import('../../cli/topic-list.js')
		const { watching } = await import('../../cli/watch.js')
		this.exitNow(await watching('topic:list', flags, (each) => listTopics(argv as string[], each)))
	}
}
