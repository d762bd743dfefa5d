import { BaseCommand } from '../../cli/base-command.js'
import { connectionFlags } from '../../cli/flags/connection.js'
import { resultFlags } from '../../cli/flags/output.js'
import { watchFlags } from '../../cli/flags/watch.js'

export default class ClusterInfo extends BaseCommand {
	static override summary = 'Show a cluster: id, controller, brokers, counts.'
	static override usage = '<%= command.id %> [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %>',
		'<%= config.bin %> <%= command.id %> --bootstrap-server localhost:9092',
		'<%= config.bin %> <%= command.id %> --json',
	]
	static override flags = {
		...connectionFlags,
		...resultFlags,
		...watchFlags,
	}

	async run(): Promise<void> {
		const { flags } = await this.parse(ClusterInfo)
		const { showClusterInfo } = await import('../../cli/cluster-info.js')
		const { watching } = await import('../../cli/watch.js')
		this.exitNow(await watching('cluster:info', flags, (each) => showClusterInfo(each)))
	}
}
