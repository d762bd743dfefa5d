import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { dryRunFlag, resultFlags } from '../../cli/flags/output.js'
import { topicFlag, topicSettingFlag } from '../../cli/flags/topic.js'
import { Args, Flags } from '../../cli/oclif.js'

/** Of an int32 on the wire. */
const COUNT = { min: 1, max: 2_147_483_647 } as const

export default class TopicCreate extends BaseCommand {
	static override summary = 'Create topics.'
	static override description =
		"Counts that are not given are the broker's. With --wait it ends when every broker knows all leaders."
	static override usage = '<%= command.id %> TOPIC... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> orders -p 6',
		'<%= config.bin %> <%= command.id %> events -c retention.ms=7d -c segment.bytes=256MiB',
		'<%= config.bin %> <%= command.id %> orders-copy --like orders --dry-run',
		'<%= config.bin %> <%= command.id %> orders --if-not-exists --wait --json',
	]
	static override strict = false
	static override args = {
		topic: Args.string({ description: 'Name of the topic; several may be given.' }),
	}
	static override flags = {
		...topicFlag,
		partitions: Flags.integer({
			char: 'p',
			aliases: ['partition'],
			description: "Number of partitions. Default: the broker's.",
			...COUNT,
		}),
		'replication-factor': Flags.integer({
			char: 'r',
			aliases: ['replicas'],
			description: "Copies of each. Default: the broker's.",
			min: 1,
			max: 32_767,
		}),
		...topicSettingFlag,
		assign: Flags.string({
			description: 'Replicas of one partition, in place of -p and -r; the first leads.',
			helpValue: 'PARTITION:BROKER,BROKER…',
			multiple: true,
			multipleNonGreedy: true,
		}),
		like: Flags.string({ description: 'Counts and settings of this topic, where none are given.', helpValue: 'TOPIC' }),
		wait: Flags.boolean({ description: 'Wait until every broker knows a leader for each partition.' }),
		'if-not-exists': Flags.boolean({ description: 'A topic that is there already is no failure.' }),
		...dryRunFlag,
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(TopicCreate)
		const { createTopics } = await import('../../cli/topic-create.js')
		this.exitNow(await createTopics(argv as string[], flags))
	}
}
