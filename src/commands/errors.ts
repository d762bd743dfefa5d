import { BaseCommand } from '../cli/base-command.js'
import { resultFlags } from '../cli/flags/output.js'
import { Args } from '../cli/oclif.js'

export default class Errors extends BaseCommand {
	static override summary = "Explain Kafka's error codes."
	static override usage = '<%= command.id %> [CODE...] [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %>',
		'<%= config.bin %> <%= command.id %> 41',
		'<%= config.bin %> <%= command.id %> not-leader-or-follower --json',
	]
	static override strict = false
	static override args = {
		code: Args.string({ description: 'Code or name; several may be given. Default: all.' }),
	}
	static override flags = { ...resultFlags }

	async run(): Promise<void> {
		// A code may be negative; it is not a flag.
		const { flags, argv } = await this.parse(Errors, separateNegatives(this.argv))
		const { explainErrors } = await import('../cli/error-codes.js')
		this.exitNow(await explainErrors(argv as string[], flags))
	}
}

function separateNegatives(argv: readonly string[]): string[] {
	const negatives = argv.filter((word) => /^-\d+$/.test(word))
	const rest = argv.filter((word) => !/^-\d+$/.test(word))
	return negatives.length === 0 ? rest : [...rest, '--', ...negatives]
}
