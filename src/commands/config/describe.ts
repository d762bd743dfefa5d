import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { resultFlags } from '../../cli/flags/output.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class ConfigDescribe extends BaseCommand {
	static override summary = 'Show settings of topics and brokers, and where each comes from.'
	static override usage = '<%= command.id %> ENTITY... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> topic/orders',
		'<%= config.bin %> <%= command.id %> topic/orders --all --source',
		'<%= config.bin %> <%= command.id %> broker/1 broker/default',
		'<%= config.bin %> <%= command.id %> topic/orders --key retention.ms -o tsv',
	]
	static override strict = false
	static override args = {
		entity: Args.string({
			description: 'topic/NAME, broker/ID, broker/default, user/NAME, client/NAME, ip/ADDRESS; several may be given.',
			required: true,
		}),
	}
	static override flags = {
		all: Flags.boolean({ char: 'a', description: 'Also settings that have their default.' }),
		docs: Flags.boolean({ description: "The broker's own words on each." }),
		source: Flags.boolean({ description: 'Every place that gives a value, in order of precedence.' }),
		key: Flags.string({
			description: 'Only these settings.',
			helpValue: 'KEY',
			multiple: true,
			multipleNonGreedy: true,
		}),
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(ConfigDescribe)
		const { describeConfig } = await import('../../cli/config-describe.js')
		this.exitNow(await describeConfig(argv as string[], flags))
	}
}
