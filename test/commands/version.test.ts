import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { kcli, ROOT } from '../helpers/processes.js'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const broker = brokerForFile()

describe('version', () => {
	it('shows ours without a broker', async () => {
		expect((await kcli(['--version'])).stdout).toBe(
			`kcli/${version} ${process.platform}-${process.arch} node-${process.version}\n`,
		)
		const { stdout } = await kcli(['version', '-o', 'tsv'])
		expect(stdout).toBe(`kcli\t${version}\nprotocol\t3.9\nnode\t${process.versions.node}\n`)
	})

	it('asks every broker with --check', async () => {
		const { items, code } = await broker.json('version --check')
		expect(code).toBe(0)
		expect(items.at(-1)).toEqual({ component: 'broker-1', version: '3.9', unserved: [] })
	})
})
