/** What the command line says of itself and of what is wrong with it. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type CommandClass, commandClasses } from '../helpers/command-classes.js'
import { kcli } from '../helpers/processes.js'

let classes: CommandClass[] = []
beforeAll(async () => {
	classes = await commandClasses()
})

describe('USAGE', () => {
	it('of every command names the arguments that it takes, in order, and which must be there', () => {
		for (const { id, command } of classes) {
			const { usage } = command as unknown as { usage?: string }
			expect(usage, id).toMatch(/^<%= command\.id %>( |$)/)
			const words = (usage as string).replace('<%= command.id %>', '').trim().split(/ +/)
			const places = words.filter((word) => word !== '[FLAGS]' && word !== '--data-dir' && word !== 'FOLDER')
			const args = Object.values(command.args ?? {})
			expect(places.length, `${id}: ${usage}`).toBe(args.length)
			for (const [i, place] of places.entries()) {
				const isLast = i === places.length - 1
				const isMany = command.strict === false && isLast
				expect(place.endsWith('...') || place.endsWith('...]'), `${id}: ${place}`).toBe(isMany)
				// Where the argument may come by a flag too, oclif does not ask for it; the command does.
				if (args[i]?.required === true) expect(place, id).not.toMatch(/^\[/)
			}
			expect(words.includes('[FLAGS]'), id).toBe(Object.keys(command.flags ?? {}).length > 0)
		}
	})

	it('says no brackets around what is needed', async () => {
		for (const line of ['topic create', 'topic describe', 'topic delete', 'group describe', 'produce', 'consume']) {
			const { stdout } = await kcli([...line.split(' '), '--help'])
			expect(stdout, line).toMatch(/USAGE\n {2}\$ kcli [a-z ]+ (TOPIC|GROUP)(\.\.\.)? \[FLAGS\]\n/)
		}
		expect((await kcli(['config', 'set', '--help'])).stdout).toContain(
			'$ kcli config set ENTITY KEY=VALUE... [FLAGS]\n',
		)
	})
})

describe('wrong usage', () => {
	it.each<[string, RegExp, Record<string, string>?]>([
		['topic create x --partitions abc', /^kcli: --partitions wants a whole number, not 'abc'\n/],
		['topic create x -p 0', /--partitions wants a whole number from 1 on, not '0'/],
		['topic create x -p 3000000000', /up to 2147483647/],
		['topic create x -r 40000', /up to 32767/],
		['topic create x --assign=', /--assign wants/],
		['topic create x --assign 0:1,1', /names a broker twice/],
		['topic create x --assign 0:99999999999', /too large/],
		['topic create x -c retention.ms=7days', /not '7days'\n {2}did you mean 7d\?/],
		['topic list --only foo', /--only is one of urp, offline/],
		['topic list --human --raw', /--raw and --human exclude each other|--human and --raw exclude each other/],
		['topic list --timeout 0s', /--timeout wants more than nothing/],
		['topic list --timeout 7days', /did you mean 7d\?/],
		['topic list', /KCLI_OUTPUT is one of table.*not 'bogus'/, { KCLI_OUTPUT: 'bogus' }],
		['topic list -o bogus', /--output is one of table/, { KCLI_OUTPUT: 'json' }],
		['topic list --topic=', /a topic name is empty/],
		['consume x -J -f y', /--json \(-J\) and --format \(-f\) exclude each other/],
		['consume x --tail 1 -c 2', /exclude each other/],
		['consume x --merge', /--merge needs an end/],
		['consume x -o 5:3', /the range ends before it begins/],
		['consume x -o 1:4 --to 3', /two ends/],
		['consume x --to start', /--to wants one place/],
		['consume x', /KCLI_OUTPUT=table is no form of 'consume'/, { KCLI_OUTPUT: 'table' }],
		['log dump x', /KCLI_OUTPUT=csv is no form of 'log dump'/, { KCLI_OUTPUT: 'csv' }],
		['log dump x --from 5 --to 5', /nothing lies between/],
		['log dump /dev/null', /not a file of a log/],
		['log segments /dev/null', /no folder/],
		['produce x -H =v', /has no name/],
		['produce x -K : --input json', /no effect with --input json/],
		['produce x --template {{nope}}', /has no place \{\{nope\}\}/],
		['produce x -f %k%s', /nothing stands between/],
		['produce x --input format', /wants a format/],
		['produce x -T -o table', /no room for a result/],
		['group list --state emtpy', /--state is one of .*not 'emtpy'\n {2}did you mean Empty\?/],
		['group list --type clasic', /did you mean classic\?/],
		['group describe g --lag much', /--lag wants a comparison/],
		['group describe g --by topic --section state', /--by needs the section offsets/],
		['topic describe t --stable --section summary', /--stable needs the section offsets/],
		['config append user/alice a=b', /no settings that are lists/],
		['config set', /missing ENTITY SETTING\n {2}kcli config set ENTITY KEY=VALUE/],
		['config set constructor/x a=b', /is no entity/],
		['topic delete t --backup /nowhere/at/all --yes', /no folder|reached|listens/],
		['zk start', /--data-dir must be given/],
		['zk start --listen 2181 --data-dir x', /such as 127\.0\.0\.1:2181/],
		['broker start --listen localhost:9093', /not 'localhost:9093'\n {2}such as PLAINTEXT:\/\/localhost:9093/],
		['broker start -c log.retention.hour=1', /did you mean log\.retention\.hours/],
		['broker start -c log.retention.ms=7days', /did you mean 7d\?/],
	])('%s', async (line, message, env = {}) => {
		const result = await kcli(
			[...line.split(' '), ...(/^(topic|group|config)/.test(line) ? ['-b', '127.0.0.1:1'] : [])],
			{
				env: { KCLI_OUTPUT: '', ...env },
			},
		)
		expect(result.stdout).toBe('')
		expect(result.stderr).toMatch(message)
		expect(result.code).toBe(line.includes('--backup') ? 1 : 2)
		expect(result.stderr).not.toMatch(/ {2}[a-z]+ .* {2}|\n\n/)
	})
})
