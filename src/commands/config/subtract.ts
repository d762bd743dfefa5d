import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { dryRunFlag, resultFlags } from '../../cli/flags/output.js'
import { Args } from '../../cli/oclif.js'

export default class ConfigSubtract extends BaseCommand {
	static override summary = 'Take items out of settings that are lists.'
	static override usage = '<%= command.id %> ENTITY KEY=ITEM... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> topic/orders cleanup.policy=compact --dry-run',
		'<%= config.bin %> <%= command.id %> topic/orders cleanup.policy=compact --dry-run --json',
	]
	static override strict = false
	static override args = {
		entity: Args.string({ description: 'topic/NAME, broker/ID or broker/default.', required: true }),
		setting: Args.string({ description: 'KEY=ITEM,ITEM…; several may be given.', required: true }),
	}
	static override flags = {
		...dryRunFlag,
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(ConfigSubtract)
		const { changeConfig } = await import('../../cli/config-change.js')
		this.exitNow(await changeConfig('subtract', argv as string[], flags))
	}
}
