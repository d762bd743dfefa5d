import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { dryRunFlag, resultFlags } from '../../cli/flags/output.js'
import { topicFlag, topicSettingFlag } from '../../cli/flags/topic.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class TopicAlter extends BaseCommand {
	static override summary = 'Add partitions to topics, and set or unset their settings.'
	static override usage = '<%= command.id %> TOPIC... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> orders -p 12',
		'<%= config.bin %> <%= command.id %> orders -c retention.ms=7d --unset segment.bytes',
		'<%= config.bin %> <%= command.id %> orders events -c retention.ms=1d --dry-run --json',
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
			description: 'Number of partitions to grow to.',
			min: 1,
			max: 2_147_483_647,
		}),
		...topicSettingFlag,
		unset: Flags.string({
			aliases: ['delete-config'],
			description: 'Setting to take away, so that the default holds.',
			helpValue: 'KEY',
			multiple: true,
			multipleNonGreedy: true,
		}),
		...dryRunFlag,
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(TopicAlter)
		const { alterTopics } = await import('../../cli/topic-alter.js')
		this.exitNow(await alterTopics(argv as string[], flags))
	}
}
