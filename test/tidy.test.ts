/**
 * The house rules that a machine can hold: who may import whom (the layer table of ARCHITECTURE.md), where effects may be
 * touched, how long a file may be. A rule that is broken names the file and line.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SRC = join(ROOT, 'src')

interface Source {
	/** Relative to src/, with forward slashes. */
	readonly path: string
	readonly lines: readonly string[]
}

function sources(folder: string): Source[] {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name)
		if (entry.isDirectory()) return sources(path)
		if (!/\.tsx?$/.test(entry.name)) return []
		return [{ path: relative(SRC, path).replaceAll('\\', '/'), lines: readFileSync(path, 'utf8').split('\n') }]
	})
}

const all = sources(SRC)

interface Import {
	readonly from: string
	readonly line: number
	/** A file of ours relative to src/, or a package name. */
	readonly target: string
	readonly isOurs: boolean
	readonly isDynamic: boolean
}

function importsOf({ path, lines }: Source): Import[] {
	const found: Import[] = []
	for (const [i, line] of lines.entries()) {
		const match = /(?:^import .*from |^import |^\} from |^export .* from |import\()['"]([^'"]+)['"]/.exec(line)
		if (match === null) continue
		const name = match[1] as string
		const isOurs = name.startsWith('.')
		const target = isOurs ? relative(SRC, resolve(dirname(join(SRC, path)), name)).replace(/\.js$/, '') : name
		found.push({
			from: path,
			line: i + 1,
			target: target.replaceAll('\\', '/'),
			isOurs,
			isDynamic: line.includes('import('),
		})
	}
	return found
}

/** What a file of each folder may import of ours, by prefix. The first row that fits a file decides. */
const LAYERS: readonly { readonly of: string; readonly may: readonly string[] }[] = [
	{ of: 'base/', may: ['base/'] },
	{ of: 'protocol/', may: ['base/', 'protocol/'] },
	{ of: 'runtime/', may: ['base/', 'runtime/'] },
	{ of: 'zk/server/main', may: ['base/', 'runtime/', 'zk/'] },
	{
		of: 'zk/server/',
		may: ['base/', 'runtime/', 'zk/server/', 'zk/jute', 'zk/messages', 'zk/port', 'zk/frame-splitter'],
	},
	{ of: 'zk/', may: ['base/', 'runtime/', 'zk/'] },
	{ of: 'client/', may: ['base/', 'runtime/', 'protocol/', 'client/'] },
	{ of: 'engine/net/', may: ['base/', 'runtime/', 'engine/net/', 'protocol/framer'] },
	{ of: 'engine/log/', may: ['base/', 'runtime/', 'protocol/', 'engine/log/'] },
	{
		of: 'engine/metadata/',
		may: ['base/', 'runtime/', 'protocol/', 'zk/', 'engine/config', 'engine/log/', 'engine/metadata/'],
	},
	{
		of: 'engine/replica/',
		may: [
			'base/',
			'runtime/',
			'protocol/',
			'client/connection',
			'engine/config',
			'engine/log/',
			'engine/metadata/',
			'engine/replica/',
		],
	},
	{
		of: 'engine/group/',
		may: [
			'base/',
			'runtime/',
			'protocol/',
			'engine/config',
			'engine/log/',
			'engine/metadata/',
			'engine/replica/',
			'engine/group/',
		],
	},
	{
		of: 'engine/txn/',
		may: [
			'base/',
			'runtime/',
			'protocol/',
			'engine/config',
			'engine/log/',
			'engine/metadata/',
			'engine/replica/',
			'engine/txn/',
		],
	},
	{
		of: 'engine/controller/',
		may: [
			'base/',
			'runtime/',
			'protocol/',
			'zk/',
			'engine/config',
			'engine/metadata/',
			'engine/replica/',
			'engine/controller/',
		],
	},
	{ of: 'engine/config', may: ['base/', 'engine/config'] },
	{ of: 'engine/listeners', may: ['base/', 'zk/znodes', 'engine/config'] },
	{
		of: 'engine/api/',
		may: ['base/', 'runtime/', 'protocol/', 'zk/', 'engine/'],
	},
	{ of: 'engine/', may: ['base/', 'runtime/', 'protocol/', 'zk/', 'client/connection', 'engine/'] },
	{ of: 'ops/', may: ['base/', 'runtime/', 'protocol/', 'zk/', 'client/', 'ops/'] },
	{ of: 'tui/', may: ['base/', 'runtime/', 'protocol/', 'client/', 'ops/', 'tui/', 'cli/output'] },
	{ of: 'cli/', may: ['base/', 'runtime/', 'protocol/', 'zk/', 'client/', 'ops/', 'engine/', 'cli/'] },
	{ of: 'commands/', may: ['cli/', 'ops/', 'commands/', 'tui/'] },
	{ of: 'testing', may: ['base/', 'runtime/', 'protocol/', 'client/'] },
]

/** Parts of the ZooKeeper folder that the engine may name. */
const ZK_FOR_ENGINE = ['zk/port', 'zk/znodes', 'zk/recipes', 'zk/znodes-admin', 'zk/recipes-config']

/** Engine files that the command line may name: its entry points, and what they throw. */
const ENGINE_FOR_CLI = [
	'engine/broker',
	'engine/config',
	'engine/log/cleaner/pass',
	'engine/log/dump',
	'engine/log/dir-lock',
	'engine/log/manager',
	'engine/log/compare',
	'engine/log/repair/',
	'engine/log/verify/dir-check',
	'engine/log/verify/finding',
	'engine/log/verify/partition-check',
]

function problemOf(each: Import): string | null {
	const { from, target } = each
	const row = LAYERS.find(({ of }) => from.startsWith(of))
	if (row === undefined) return 'stands in no layer'
	if (!row.may.some((prefix) => target.startsWith(prefix))) return `may not import ${target}`
	if (from.startsWith('engine/') && target.startsWith('zk/') && !ZK_FOR_ENGINE.includes(target))
		return `may not import ${target}`
	if (from.startsWith('ops/') && target.startsWith('zk/server/')) return `may not import ${target}`
	if (
		from.startsWith('cli/') &&
		target.startsWith('engine/') &&
		!ENGINE_FOR_CLI.some((may) => target.startsWith(may))
	) {
		return `may not import ${target}`
	}
	if (target.startsWith('runtime/node-') && !/^(cli|testing|runtime|zk\/server\/main|zk\/node-driver)/.test(from)) {
		return `may not import ${target}`
	}
	return null
}

describe('layers', () => {
	it('every import goes down the layer table', () => {
		const wrong = all.flatMap((source) =>
			importsOf(source)
				.filter((each) => each.isOurs)
				.map((each) => ({ each, problem: problemOf(each) }))
				.filter(({ problem }) => problem !== null)
				.map(({ each, problem }) => `${each.from}:${each.line} ${problem}`),
		)
		expect(wrong).toEqual([])
	})

	it('there are no circles between files', () => {
		const edges = new Map(
			all.map((source) => [
				source.path.replace(/\.tsx?$/, ''),
				importsOf(source)
					.filter((each) => each.isOurs && !each.isDynamic)
					.filter((each) => !/^import type /.test(source.lines[each.line - 1] ?? ''))
					.map((each) => each.target),
			]),
		)
		const circles: string[] = []
		const done = new Set<string>()
		const visit = (file: string, path: readonly string[]): void => {
			if (path.includes(file)) {
				circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
				return
			}
			if (done.has(file)) return
			for (const next of edges.get(file) ?? []) visit(next, [...path, file])
			done.add(file)
		}
		for (const file of edges.keys()) visit(file, [])
		expect(circles).toEqual([])
	})

	it('packages and node modules are named only where they belong', () => {
		const wrong = all.flatMap((source) =>
			importsOf(source)
				.filter((each) => !each.isOurs)
				.filter(({ from, target }) => {
					if (target === 'node-zookeeper-client') return from !== 'zk/node-driver.ts' && from !== 'zk/node-package.ts'
					if (target.startsWith('node:'))
						return !/^(runtime\/node-|cli\/|testing|zk\/node-|zk\/server\/main)/.test(from)
					return !/^(runtime\/node-|cli\/|commands\/|tui\/|zk\/node-)/.test(from)
				})
				.map(({ from, line, target }) => `${from}:${line} imports ${target}`),
		)
		expect(wrong).toEqual([])
	})
})

describe('effects', () => {
	const BANNED: readonly [RegExp, string][] = [
		[/\bDate\.now\(|\bnew Date\(\)/, 'the wall clock'],
		[/\bperformance\.now\(/, 'the monotonic clock'],
		[/\bMath\.random\(/, 'randomness'],
		[/\bset(Timeout|Interval|Immediate)\(/, 'a timer'],
		[/\bprocess\.(env|hrtime|exit|stdout|stderr|argv)\b/, 'the process'],
		[/\bconsole\./, 'the console'],
	]

	it('are touched only by runtime/node-*, the command line and entry points', () => {
		const wrong = all
			.filter(({ path }) => !/^(runtime\/node-|cli\/|commands\/|tui\/|testing|zk\/server\/main|zk\/node-)/.test(path))
			.flatMap(({ path, lines }) =>
				lines.flatMap((line, i) =>
					BANNED.filter(([pattern]) => pattern.test(line.replace(/\/\/.*|^\s*\*.*|\/\*.*/, ''))).map(
						([, what]) => `${path}:${i + 1} touches ${what}`,
					),
				),
			)
		expect(wrong).toEqual([])
	})
})

/** Files that are over the limit today. A number here may only fall. */
const LONG_FILES: Readonly<Record<string, number>> = {
	'engine/controller/duties.ts': 450,
}

/** Tables: a row a line, no logic. */
const TABLES: ReadonlySet<string> = new Set(['protocol/errors.ts', 'engine/config-broker-keys.ts'])

const LINES_MAX = 400

describe('files', () => {
	it(`have at most ${LINES_MAX} lines`, () => {
		const long = all
			.filter(({ path }) => !TABLES.has(path))
			.filter(({ path, lines }) => lines.length > (LONG_FILES[path] ?? LINES_MAX))
			.map(({ path, lines }) => `${path}: ${lines.length}`)
		expect(long).toEqual([])
	})

	it('are not barrels and hold no enum', () => {
		const wrong = all
			.filter(
				({ path, lines }) =>
					/(^|\/)index\.ts$/.test(path) || lines.some((line) => /^(export )?(const )?enum /.test(line)),
			)
			.map(({ path }) => path)
			.filter((path) => !path.startsWith('commands/'))
		expect(wrong).toEqual([])
	})

	it('name no machine, registry or work place', () => {
		const wrong = all.flatMap(({ path, lines }) =>
			lines.flatMap((line, i) =>
				/\/(home|root|work)\/|registry\.npmjs|\.\.\/shared/.test(line) ? [`${path}:${i + 1}`] : [],
			),
		)
		expect(wrong).toEqual([])
	})
})
