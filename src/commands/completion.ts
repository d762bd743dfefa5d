import { BaseCommand } from '../cli/base-command.js'
import { Args } from '../cli/oclif.js'

export default class Completion extends BaseCommand {
	static override summary = 'Print the completion script of a shell: commands, flags, topics, groups.'
	static override description =
		'Names of topics and groups are asked of the cluster on the line, kept for 10 seconds, and waited for at most half a\n' +
		'second.'
	static override usage = '<%= command.id %> SHELL'
	static override examples = [
		'source <(<%= config.bin %> <%= command.id %> bash)',
		'<%= config.bin %> <%= command.id %> zsh > "$HOME/.zsh/_kcli"',
		'<%= config.bin %> <%= command.id %> fish > "$HOME/.config/fish/completions/kcli.fish"',
	]
	static override args = {
		shell: Args.string({ description: 'Shell.', options: ['bash', 'zsh', 'fish'], required: true }),
	}

	async run(): Promise<void> {
		const { args } = await this.parse(Completion)
		const { completionScript } = await import('../cli/completion-script.js')
		const { printPlain } = await import('../cli/output.js')
		printPlain(completionScript(args.shell as 'bash' | 'zsh' | 'fish'))
	}
}
