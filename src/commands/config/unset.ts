import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { dryRunFlag, resultFlags } from '../../cli/flags/output.js'
import { Args } from '../../cli/oclif.js'

export default class ConfigUnset extends BaseCommand {
	static override summary = 'Take settings away, so that their defaults hold; shows old and new.'
	static override usage = '<%= command.id %> ENTITY KEY... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> topic/orders retention.ms',
		'<%= config.bin %> <%= command.id %> broker/1 log.retention.ms --dry-run',
		'<%= config.bin %> <%= command.id %> topic/orders retention.ms segment.bytes --json',
	]
	static override strict = false
	static override args = {
		entity: Args.string({
			description: 'topic/NAME, broker/ID, broker/default, user/NAME, client/NAME or ip/ADDRESS.',
			required: true,
		}),
		setting: Args.string({ description: 'KEY; several may be given.', required: true }),
	}
	static override flags = {
		...dryRunFlag,
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(ConfigUnset)
		const { changeConfig } = await import('../../cli/config-change.js')
		this.exitNow(await changeConfig('unset', argv as string[], flags))
	}
}
