import { BaseCommand } from '../cli/base-command.js'
import { connectionFlags } from '../cli/flags/connection.js'
import { resultFlags } from '../cli/flags/output.js'
import { Flags } from '../cli/oclif.js'

export default class Version extends BaseCommand {
	static override summary = 'Show versions of kcli, of the protocol it speaks, and of brokers.'
	static override usage = '<%= command.id %> [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %>',
		'<%= config.bin %> <%= command.id %> --check',
		'<%= config.bin %> <%= command.id %> --json',
	]
	static override flags = {
		check: Flags.boolean({ description: 'Ask every broker; exit 3 when one lacks a call that kcli makes.' }),
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags } = await this.parse(Version)
		const { showVersion } = await import('../cli/version-info.js')
		this.exitNow(await showVersion(flags))
	}
}
