import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { destructiveFlags, resultFlags } from '../../cli/flags/output.js'
import { topicPatternFlags } from '../../cli/flags/topic.js'
import { Args, Flags } from '../../cli/oclif.js'

export default class TopicDelete extends BaseCommand {
	static override summary = 'Delete topics with all their records.'
	static override description =
		'Shows what would be lost and asks. Where nobody can be asked it does nothing without --yes (exit 2).'
	static override usage = '<%= command.id %> TOPIC... [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> old-orders --dry-run',
		'<%= config.bin %> <%= command.id %> old-orders --yes',
		"<%= config.bin %> <%= command.id %> -r 'test-.*' --dry-run",
		'<%= config.bin %> <%= command.id %> scratch --if-exists --yes --wait --json',
	]
	static override strict = false
	static override args = {
		topic: Args.string({ description: 'Name, or pattern with -r; several may be given.' }),
	}
	static override flags = {
		...topicPatternFlags,
		'if-exists': Flags.boolean({ description: 'A topic that is not there is no failure.' }),
		backup: Flags.string({
			description:
				'Keep all records in this file first, as JSON lines that produce --input json takes back; a folder for several topics.',
			helpValue: 'FILE',
		}),
		wait: Flags.boolean({ description: 'Wait until no broker knows them any more.' }),
		...destructiveFlags,
		...connectionFlags,
		...resultFlags,
	}

	async run(): Promise<void> {
		const { flags, argv } = await this.parse(TopicDelete)
		const { deleteTopics } = await import('../../cli/topic-delete.js')
		this.exitNow(await deleteTopics(argv as string[], flags))
	}
}
