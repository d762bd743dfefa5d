import { describe, expect, it } from 'vitest'
import { resolveCommand } from '../../src/cli/command-tree.js'

const entries = [
	{ id: 'topic:list' },
	{ id: 'topic:delete' },
	{ id: 'topic:describe' },
	{ id: 'group:list' },
	{ id: 'group:seek' },
	{ id: 'config:unset' },
	{ id: 'cluster:info' },
	{ id: 'consume' },
	{ id: 'dashboard', hiddenAliases: ['top'] },
]

const find = (line: string) => resolveCommand(entries, line.split(' '))

describe('resolveCommand', () => {
	it.each([
		['topic list', 'topic:list', []],
		['topics ls', 'topic:list', []],
		['topics rm a b', 'topic:delete', ['a', 'b']],
		['topic desc orders -o json', 'topic:describe', ['orders', '-o', 'json']],
		['groups reset g', 'group:seek', ['g']],
		['config rm topic/a k', 'config:unset', ['topic/a', 'k']],
		['cluster show', 'cluster:info', []],
		['consume topic', 'consume', ['topic']],
		['top', 'dashboard', []],
	])('%s is %s', (line, id, rest) => {
		expect(find(line)).toEqual({ id, rest })
	})

	it('takes no word behind a flag for a command', () => {
		expect(find('topic -b x list')).toMatchObject({ noun: 'topic', words: [] })
	})

	it('does not trip over words that objects have', () => {
		expect(find('topic constructor')).toMatchObject({ noun: 'topic', words: ['topic', 'constructor'] })
		expect(find('constructor')).toMatchObject({ noun: null })
	})

	it.each([
		['topik list', "'kcli topic'"],
		['topic lst', "'kcli topic list'"],
		['list topics', "'kcli topic list'"],
		['comsume t', "'kcli consume'"],
		['topic dsecribe x', "'kcli topic describe'"],
	])('%s: did you mean %s?', (line, meant) => {
		expect(find(line)).toMatchObject({ hint: `did you mean ${meant}?` })
	})

	it('offers nothing where nothing is near', () => {
		expect(find('xyzzy')).toEqual({ noun: null, words: ['xyzzy'], hint: null })
	})
})
