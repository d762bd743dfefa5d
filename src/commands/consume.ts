import { BaseCommand } from '../cli/base-command.js'
import { connectionFlags } from '../cli/flags/connection.js'
import { consumeFlags } from '../cli/flags/consume.js'
import { Args } from '../cli/oclif.js'

export default class Consume extends BaseCommand {
	static override summary = 'Print the records of topics: from the start, then following, unless told otherwise.'
	static override description =
		'Prints values, one a line, to stdout and nothing else; a line on stderr says where it starts and how it ends.\n' +
		'Exit codes: 0 done (also a closed pipe), 4 --idle ended it before -c was reached, 130 Ctrl-C, 143 SIGTERM.'
	static override usage = '<%= command.id %> TOPIC... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> orders -e',
		"<%= config.bin %> <%= command.id %> orders -o @-1h -f '%d{iso} %k=%s\\n'",
		'<%= config.bin %> <%= command.id %> orders -J -e | jq -r .value   # for scripts',
		'<%= config.bin %> <%= command.id %> orders payments -g audit -c 10 --idle 30s',
	]
	static override strict = false
	static override args = {
		topic: Args.string({ description: 'Topic to read; several may be given.', ignoreStdin: true }),
	}
	static override flags = { ...consumeFlags, ...connectionFlags }

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(Consume)
		const { consumeRecords } = await import('../cli/consume.js')
		this.exitNow(await consumeRecords(argv as string[], flags))
	}
}
