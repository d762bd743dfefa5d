import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { dryRunFlag, resultFlags } from '../../cli/flags/output.js'
import { Args } from '../../cli/oclif.js'

export default class ConfigSet extends BaseCommand {
	static override summary = 'Set settings of a topic or broker; shows old and new.'
	static override usage = '<%= command.id %> ENTITY KEY=VALUE... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> topic/orders retention.ms=7d',
		'<%= config.bin %> <%= command.id %> topic/orders cleanup.policy=compact min.compaction.lag.ms=1h',
		'<%= config.bin %> <%= command.id %> broker/default log.retention.ms=3d --dry-run --json',
	]
	static override strict = false
	static override args = {
		entity: Args.string({
			description: 'topic/NAME, broker/ID, broker/default, user/NAME, client/NAME or ip/ADDRESS.',
			required: true,
		}),
		setting: Args.string({
			description: 'KEY=VALUE; several may be given. Units such as 7d and 1GiB are understood.',
			required: true,
		}),
	}
	static override flags = {
		...dryRunFlag,
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(ConfigSet)
		const { changeConfig } = await import('../../cli/config-change.js')
		this.exitNow(await changeConfig('set', argv as string[], flags))
	}
}
