import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags, outputFlags } from '../../cli/flags/connection.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class TopicCreate extends BaseCommand {
	static override summary = 'Create topics and wait until they can be used.'
	static override examples = [
		'<%= config.bin %> <%= command.id %> orders -p 6 -r 3',
		'<%= config.bin %> <%= command.id %> events -c retention.ms=7d -c segment.bytes=256MiB',
		'<%= config.bin %> <%= command.id %> orders --if-not-exists --json',
	]
	static override strict = false
	static override args = {
		topic: Args.string({ description: 'Name of the topic; several may be given.', required: true }),
	}
	static override flags = {
		partitions: Flags.integer({ char: 'p', description: "Number of partitions. Default: the broker's." }),
		'replication-factor': Flags.integer({
			char: 'r',
			aliases: ['replicas'],
			description: "Copies of each. Default: the broker's.",
		}),
		config: Flags.string({
			char: 'c',
			aliases: ['topic-config', 'set'],
			description: 'Setting of the topic.',
			helpValue: 'KEY=VALUE',
			multiple: true,
		}),
		'if-not-exists': Flags.boolean({ description: 'A topic that is there already is no failure.' }),
		'dry-run': Flags.boolean({ aliases: ['validate-only'], description: 'Check everything, create nothing.' }),
		...connectionFlags,
		...outputFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(TopicCreate)
		const { createTopics } = await import('../../cli/topic-create.js')
		this.exitNow(await createTopics(argv as string[], flags))
	}
}
