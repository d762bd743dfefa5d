/** Compaction in a broker's process, where it has threads of its own: under writes, a deletion, and kill -9. */

import { afterAll, expect, it } from 'vitest'
import { Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

const SETTINGS = ['log.cleaner.backoff.ms=30', 'log.segment.delete.delay.ms=100'].flatMap((each) => ['-c', each])
const TOPIC = [
	'cleanup.policy=compact',
	'segment.bytes=4096',
	'min.cleanable.dirty.ratio=0.01',
	'delete.retention.ms=0',
]
const ROUNDS = 4
const KEYS = 10

it('keeps the last value of each key, whatever comes in between', async () => {
	const folder = `${cleanup.folder()}/data`
	let broker = await startBrokerProcess(folder, SETTINGS)
	cleanup.add(() => broker.kill())
	const at = () => ['-b', broker.bootstrap]
	const create = (name: string) => kcli(['topic', 'create', name, ...TOPIC.flatMap((each) => ['-c', each]), ...at()])
	const put = async (topic: string, round: number) => {
		const lines = Array.from({ length: 1000 }, (_, i) => `k${i % KEYS}:${round}.${i}.${'x'.repeat(50)}`)
		const done = await kcli(['produce', topic, '-K', ':', '-X', 'batch.size=2000', ...at()], {
			input: `${lines.join('\n')}\n`,
		})
		expect(done).toMatchObject({ code: 0 })
	}
	const rows = async (topic: string): Promise<[string, string][]> => {
		const { stdout } = await kcli(['consume', topic, '-e', '-q', '-f', String.raw`%k %s\n`, ...at()])
		return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ') as [string, string]]))
	}
	await create('kept')
	for (let round = 0; round < ROUNDS; round++) {
		await create(`gone-${round}`)
		await put(`gone-${round}`, round)
		await put('kept', round)
		// Some pass is over this one or that one while its topic goes, and while the broker does.
		expect(await kcli(['topic', 'delete', `gone-${round}`, '--yes', ...at()])).toMatchObject({ code: 0 })
		await broker.kill()
		broker = await startBrokerProcess(folder, SETTINGS)
	}
	await put('kept', ROUNDS)
	const compacted = await until('little to be left', async () => {
		const left = await rows('kept')
		return left.length < 200 ? left : null
	})
	const latest = new Map(compacted)
	for (let key = 0; key < KEYS; key++)
		expect(latest.get(`k${key}`)).toMatch(new RegExp(`^${ROUNDS}\\.${990 + key}\\.x`))
	expect(await broker.stop()).toBe(143)
	const verified = await kcli(['log', 'verify', folder])
	expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('kept-0')])
}, 120_000)
