/** The config commands as processes against a broker of ours. */

import { describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'

const broker = brokerForFile()

describe('config describe', () => {
	it('shows what is not a default, and everything with --all', async () => {
		await broker.run('topic create described -c retention.ms=7d')
		const own = await broker.json('config describe topic/described')
		expect(own.items).toMatchObject([
			{ entity: 'topic/described', key: 'retention.ms', value: '604800000', source: 'topic', type: 'long' },
		])
		const all = await broker.json('config describe topic/described --all --docs')
		expect(all.items.length).toBeGreaterThan(20)
		expect(all.items.every(({ documentation }) => documentation !== undefined)).toBe(true)
		const human = await broker.run('config describe topic/described --human --source')
		expect(human.stdout).toMatch(/retention\.ms +7d +topic +topic:retention\.ms=604800000/)
	})

	it('shows brokers one by one and their common default', async () => {
		const { items, code } = await broker.json('config describe broker/1 broker/default --key broker.id')
		expect(code).toBe(0)
		expect(items).toMatchObject([{ entity: 'broker/1', key: 'broker.id', value: '1', readOnly: true }])
	})

	it('names what is not there at once', async () => {
		const noBroker = await broker.run('config describe broker/77')
		expect(noBroker).toMatchObject({ code: 1, stdout: '' })
		expect(noBroker.stderr).toContain('brokers are 1')
		await broker.run('topic create orders')
		expect((await broker.run('config describe topic/order')).stderr).toContain('did you mean orders?')
		expect(await broker.run('config describe nonsense/1')).toMatchObject({ code: 2 })
		expect(await broker.run('config describe broker/x')).toMatchObject({ code: 2 })
	})
})

describe('config set and unset', () => {
	it('take human units and show old and new', async () => {
		await broker.run('topic create changed')
		const set = await broker.json('config set topic/changed retention.ms=8d segment.bytes=1MiB')
		expect(set.items).toMatchObject([
			{ key: 'retention.ms', oldValue: '604800000', newValue: '691200000', status: 'changed' },
			{ key: 'segment.bytes', oldValue: '1073741824', newValue: '1048576', status: 'changed' },
		])
		const again = await broker.json('config set topic/changed retention.ms=8d')
		expect(again.items).toMatchObject([{ status: 'unchanged' }])
		const unset = await broker.json('config unset topic/changed retention.ms segment.bytes')
		expect(unset.items).toMatchObject([
			{ key: 'retention.ms', oldValue: '691200000', newValue: '604800000', status: 'changed' },
			{ key: 'segment.bytes', newValue: '1073741824', status: 'changed' },
		])
		expect((await broker.json('config describe topic/changed')).items).toEqual([])
	})

	it('change nothing in a dry run', async () => {
		await broker.run('topic create dry')
		const dry = await broker.json('config set topic/dry retention.ms=1h --dry-run')
		expect(dry).toMatchObject({ code: 0, dryRun: true, items: [{ newValue: '3600000', status: 'would-change' }] })
		expect((await broker.json('config describe topic/dry')).items).toEqual([])
	})

	it('unset and describe refuse a setting that there is not, and name the nearest', async () => {
		await broker.run('topic create misspelt')
		for (const line of [
			'config unset topic/misspelt max.message.bytess',
			'config describe topic/misspelt --key max.message.bytess',
		]) {
			const { code, stderr } = await broker.run(line)
			expect(code, line).toBe(1)
			expect(stderr).toContain('max.message.bytess is no setting here')
			expect(stderr).toContain('max.message.bytes?')
		}
	})

	it('an override that says what the default says is a change', async () => {
		await broker.run('topic create overridden')
		const set = await broker.json('config set topic/overridden cleanup.policy=delete')
		expect(set.items).toMatchObject([{ oldValue: 'delete', newValue: 'delete', status: 'changed' }])
		const again = await broker.json('config set topic/overridden cleanup.policy=delete')
		expect(again.items).toMatchObject([{ status: 'unchanged' }])
		const unset = await broker.json('config unset topic/overridden cleanup.policy')
		expect(unset.items).toMatchObject([{ status: 'changed' }])
		const described = await broker.json('config describe topic/overridden')
		expect(described.clusterId).toMatch(/^\S{22}$/)
	})

	it('set and unset the default of all brokers', async () => {
		const set = await broker.json('config set broker/default log.retention.ms=3d')
		expect(set).toMatchObject({ code: 0, items: [{ newValue: '259200000' }] })
		expect((await broker.json('config describe broker/default')).items).toMatchObject([
			{ key: 'log.retention.ms', source: 'broker-default' },
		])
		expect((await broker.json('config unset broker/default log.retention.ms')).code).toBe(0)
		expect((await broker.json('config describe broker/default')).items).toEqual([])
	})

	it('refuse what is wrong with the words', async () => {
		for (const line of ['config set', 'config set topic/a', 'config set topic/a b', 'config unset topic/a b=c']) {
			expect(await broker.run(line), line).toMatchObject({ code: 2, stdout: '' })
		}
		expect(await broker.run('config set topic/a b=1 b=2')).toMatchObject({ code: 2 })
	})

	it('offer close matches for a setting that is not there', async () => {
		await broker.run('topic create typo')
		const wrong = await broker.json('config set topic/typo cleanup.plicy=compact')
		expect(wrong).toMatchObject({ code: 1, items: [], errors: [{ item: 'topic/typo', code: 40 }] })
		expect((await broker.run('config set topic/typo cleanup.plicy=compact')).stderr).toContain('cleanup.policy?')
	})
})

describe('config append and subtract', () => {
	it('change items of a list', async () => {
		await broker.run('topic create listed -c cleanup.policy=delete')
		const more = await broker.json('config append topic/listed cleanup.policy=compact')
		expect(more.items).toMatchObject([{ oldValue: 'delete', newValue: 'delete,compact' }])
		const less = await broker.json('config subtract topic/listed cleanup.policy=delete')
		expect(less.items).toMatchObject([{ oldValue: 'delete,compact', newValue: 'compact' }])
	})
})
