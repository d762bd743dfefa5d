import { BaseCommand } from '../cli/base-command.js'
import { connectionFlags } from '../cli/flags/connection.js'
import { produceFlags } from '../cli/flags/produce.js'
import { Args } from '../cli/oclif.js'

export default class Produce extends BaseCommand {
	static override summary = 'Write records to a topic: a record a line from stdin, or files, JSON, CSV.'
	static override description =
		'Waits for all in-sync replicas and makes no duplicates by default. Names the first line that was not written and ' +
		'exits 1. The last line needs no line break; none is added. Never creates a topic unless --create is given.'
	static override usage = '<%= command.id %> TOPIC [FLAGS]'
	static override examples = [
		'echo hello | <%= config.bin %> <%= command.id %> orders',
		"<%= config.bin %> <%= command.id %> orders -K : -z lz4 -l orders.txt   # lines 'key:value'",
		'<%= config.bin %> consume orders -e -J | <%= config.bin %> <%= command.id %> copy --input json --create',
		'<%= config.bin %> <%= command.id %> users -k user-17 -Z < /dev/null --input file   # a tombstone',
	]
	static override args = {
		// oclif would read an argument that is absent from stdin, which is ours.
		topic: Args.string({ description: 'Topic to write to.', ignoreStdin: true }),
	}
	static override flags = { ...produceFlags, ...connectionFlags }

	async run(): Promise<void> {
		const { args, flags } = await this.parse(Produce)
		const { produceRecords } = await import('../cli/produce.js')
		this.exitNow(await produceRecords(args.topic, flags))
	}
}
