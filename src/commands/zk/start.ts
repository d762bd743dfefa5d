import { BaseCommand } from '../../cli/base-command.js'
import { Flags } from '../../cli/oclif.js'

export default class ZkStart extends BaseCommand {
	static override summary = 'Start a single ZooKeeper server that brokers and any ZooKeeper client can use.'
	static override description =
		'Runs in the foreground until it is told to stop. Prints "zookeeper HOST:PORT" once it serves.'
	static override usage = '<%= command.id %> --data-dir FOLDER [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %> --data-dir ./zookeeper',
		'<%= config.bin %> <%= command.id %> --listen 127.0.0.1:0 --data-dir /tmp/zk',
	]
	static override flags = {
		listen: Flags.string({ description: 'host:port to bind; port 0 is any.', default: '127.0.0.1:2181' }),
		'data-dir': Flags.string({ description: 'Folder of the transaction log and snapshots.', required: true }),
		'ttl-nodes': Flags.boolean({
			description: 'Allow nodes that go when they are old and childless; off by default, as in Apache ZooKeeper.',
		}),
	}

	async run(): Promise<void> {
		const { flags } = await this.parse(ZkStart)
		const { runZooKeeper } = await import('../../cli/zookeeper-process.js')
		this.exitNow(await runZooKeeper(flags.listen, flags['data-dir'], flags['ttl-nodes']))
	}
}
