// `npm test`: all set-up, then lint, types and every test that needs only Node. `npm run test:interop`: the tests against
// real peers (kcat, librdkafka, kafkajs, kafka-python, Apache Kafka, Apache ZooKeeper); a peer that is absent is skipped
// by name. Last line: `N passed, N failed, N skipped`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const isInterop = process.argv.includes('--interop')
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
prepare(root)

let passed = 0
let failed = 0
const skipped = []

/** One check beside the tests, counted as one. */
function check(name, command, args) {
	const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
	if (done.status === 0) passed++
	else {
		failed++
		process.stderr.write(`FAILED: ${name}\n`)
	}
}

function vitest(config) {
	const folder = mkdtempSync(join(tmpdir(), 'kcli-test-'))
	const report = join(folder, 'report.json')
	const args = [
		'vitest',
		'run',
		'--config',
		config,
		'--reporter=default',
		'--reporter=json',
		`--outputFile.json=${report}`,
		...filters,
	]
	const done = spawnSync('npx', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
	try {
		const result = JSON.parse(readFileSync(report, 'utf8'))
		passed += result.numPassedTests
		failed += result.numFailedTests
		for (const file of result.testResults) {
			if (file.status === 'failed' && file.assertionResults.length === 0) failed++
			for (const test of file.assertionResults) {
				if (test.status === 'pending' || test.status === 'skipped' || test.status === 'todo')
					skipped.push(test.fullName)
			}
		}
		if (done.status !== 0 && failed === 0) failed++
	} catch {
		// The run ended before it could report.
		failed++
	}
	rmSync(folder, { recursive: true, force: true })
}

if (filters.length === 0 && !isInterop) {
	check('lint', 'npx', ['biome', 'ci', '.', '--colors=off'])
	check('types', 'npx', ['tsc', '-p', 'tsconfig.json'])
}
vitest(isInterop ? 'vitest.interop.config.ts' : 'vitest.config.ts')

for (const name of skipped) process.stdout.write(`SKIPPED: ${name}\n`)
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped\n`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)
