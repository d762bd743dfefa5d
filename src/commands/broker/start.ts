import { BaseCommand } from '../../cli/base-command.js'
import { logFlags } from '../../cli/flags/log.js'
import { Flags } from '../../cli/oclif.js'

export default class BrokerStart extends BaseCommand {
	static override summary = 'Start a broker, with the ZooKeeper it needs unless one is named.'
	static override description =
		'Runs in the foreground until it is told to stop (Ctrl-C, SIGTERM). Prints one line that begins with "ready" once it\n' +
		'serves. Accepts the server.properties of Apache Kafka 3.9 as it comes.'
	static override usage = '<%= command.id %> [FLAGS]'
	static override examples = [
		'<%= config.bin %> <%= command.id %>',
		'<%= config.bin %> <%= command.id %> --id 2 --listen PLAINTEXT://127.0.0.1:9093 --data-dir ./b2 --zookeeper 127.0.0.1:2181',
		'<%= config.bin %> <%= command.id %> --config server.properties -c log.retention.hours=24',
		'<%= config.bin %> <%= command.id %> --listen PLAINTEXT://127.0.0.1:0 --zookeeper-port 0 --data-dir /tmp/k1 --json',
	]
	static override flags = {
		id: Flags.integer({ description: 'Broker id. Default 1 with the embedded ZooKeeper.', min: 0 }),
		listen: Flags.string({ description: 'NAME://host:port to bind; port 0 is any.', multiple: true }),
		advertised: Flags.string({ description: 'NAME://host:port that clients are told.', multiple: true }),
		'data-dir': Flags.string({
			description: 'Data folder; repeat it or part by commas for several.',
			multiple: true,
			env: 'KCLI_DATA_DIR',
		}),
		zookeeper: Flags.string({
			description: 'host:port[,host:port…][/chroot] of a running ZooKeeper.',
			env: 'KCLI_ZOOKEEPER',
		}),
		'zookeeper-port': Flags.integer({
			description: 'Port of the embedded ZooKeeper; 0 is any.',
			default: 2181,
			min: 0,
			max: 65_535,
		}),
		'zookeeper-data-dir': Flags.string({
			description: 'Folder of the embedded ZooKeeper. Default: beside the first data folder.',
		}),
		rack: Flags.string({ description: 'Rack of this broker.' }),
		config: Flags.string({ description: "Apache Kafka's server.properties.", helpValue: 'FILE' }),
		set: Flags.string({
			char: 'c',
			description: 'One setting; beats the file.',
			helpValue: 'KEY=VALUE',
			multiple: true,
		}),
		'ready-fd': Flags.integer({ description: 'Also write the ready line to this file descriptor.', min: 1 }),
		json: Flags.boolean({ description: 'The ready line as JSON.' }),
		attached: Flags.boolean({ description: 'Stop when stdin ends, as when the parent process dies.', hidden: true }),
		scratch: Flags.string({ description: 'Folder to remove when stdin has ended (with --attached).', hidden: true }),
		...logFlags,
	}

	async run(): Promise<void> {
		const { flags } = await this.parse(BrokerStart)
		const { runBroker } = await import('../../cli/broker-process.js')
		const { loggerOf } = await import('../../cli/flags/log.js')
		const code = await runBroker(
			{
				id: flags.id ?? null,
				listen: flags.listen ?? [],
				advertised: flags.advertised ?? [],
				dataDirs: flags['data-dir'] ?? [],
				zookeeper: flags.zookeeper ?? null,
				zookeeperPort: flags['zookeeper-port'],
				zookeeperDataDir: flags['zookeeper-data-dir'] ?? null,
				rack: flags.rack ?? null,
				configFile: flags.config ?? null,
				settings: flags.set ?? [],
				readyFd: flags['ready-fd'] ?? null,
				json: flags.json,
				isAttached: flags.attached,
				scratch: flags.scratch ?? null,
			},
			loggerOf(flags),
		)
		this.exitNow(code)
	}
}
