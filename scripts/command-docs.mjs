// Writes docs/commands/*.md from the manifest: one page a noun, each command with what its help says. `npm run docs`; a test
// holds the pages against the commands.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Pages by name (`topic.md`), from the commands of a manifest. */
export function commandPages(commands) {
	const nouns = new Map()
	for (const command of Object.values(commands).sort((a, b) => (a.id < b.id ? -1 : 1))) {
		if (command.hidden) continue
		const noun = command.id.split(':')[0]
		nouns.set(noun, [...(nouns.get(noun) ?? []), command])
	}
	const pages = new Map()
	for (const [noun, theirs] of nouns) pages.set(`${noun}.md`, page(noun, theirs))
	pages.set('index.md', index(nouns))
	return pages
}

function index(nouns) {
	const lines = ['# Commands', '', NOTE, '', '| command | does |', '|---|---|']
	for (const [noun, commands] of nouns) {
		for (const command of commands)
			lines.push(`| [\`kcli ${words(command)}\`](${noun}.md#${anchor(command)}) | ${cell(command.summary)} |`)
	}
	return `${lines.join('\n')}\n`
}

const NOTE = '<!-- Made from the commands by `npm run docs`; changes here are lost. -->'

function page(noun, commands) {
	const parts = [`# kcli ${noun}`, NOTE]
	if (commands.length > 1)
		parts.push(commands.map((each) => `- [\`kcli ${words(each)}\`](#${anchor(each)}): ${each.summary}`).join('\n'))
	for (const command of commands) parts.push(...section(command))
	return `${parts.join('\n\n')}\n`
}

function section(command) {
	const parts = [`## kcli ${words(command)}`, command.summary]
	if (command.description) parts.push(filled(command, command.description).replaceAll('\n', ' '))
	parts.push(fence(usage(command)))
	parts.push(fence(command.examples.map((example) => filled(command, example)).join('\n')))
	const args = Object.values(command.args ?? {})
	if (args.length > 0) {
		parts.push(
			table(
				['argument', 'meaning'],
				args.map((arg) => [`\`${arg.name.toUpperCase()}\``, cell(arg.description) + choices(arg)]),
			),
		)
	}
	const flags = Object.values(command.flags ?? {}).filter(({ hidden }) => !hidden)
	if (flags.length > 0)
		parts.push(
			table(
				['flag', 'meaning'],
				flags.map((flag) => [spelling(flag), meaning(flag)]),
			),
		)
	return parts
}

function usage(command) {
	if (typeof command.usage === 'string') return `kcli ${filled(command, command.usage)}`
	const args = Object.values(command.args ?? {}).map(({ name, required }, i, all) => {
		const more = command.strict === false && i === all.length - 1 ? '...' : ''
		return required ? `${name.toUpperCase()}${more}` : `[${name.toUpperCase()}${more}]`
	})
	return ['kcli', words(command), ...args, '[FLAGS]'].join(' ')
}

function spelling({ name, char, type, helpValue, allowNo }) {
	const value = type === 'option' ? ` ${helpValue ?? 'VALUE'}` : ''
	return `${char ? `\`-${char}\`, ` : ''}\`--${allowNo ? '[no-]' : ''}${name}${value}\``
}

function meaning(flag) {
	let text = cell(flag.description) + choices(flag)
	if (flag.default !== undefined && flag.default !== false) text += ` Default: \`${flag.default}\`.`
	if (flag.multiple) text += ' May be repeated.'
	if (flag.env) text += ` Environment: \`${flag.env}\`.`
	if (flag.aliases?.length > 0) text += ` Also ${flag.aliases.map((alias) => `\`--${alias}\``).join(', ')}.`
	return text
}

function choices({ options }) {
	return options ? ` One of ${options.map((option) => `\`${option}\``).join(', ')}.` : ''
}

function table(heads, rows) {
	return [
		`| ${heads.join(' | ')} |`,
		`|${heads.map(() => '---|').join('')}`,
		...rows.map((row) => `| ${row.join(' | ')} |`),
	].join('\n')
}

function cell(text = '') {
	return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function fence(text) {
	return `\`\`\`sh\n${text}\n\`\`\``
}

function words({ id }) {
	return id.replaceAll(':', ' ')
}

function anchor(command) {
	return `kcli-${words(command).replaceAll(' ', '-')}`
}

function filled(command, text) {
	return text.replaceAll('<%= config.bin %>', 'kcli').replaceAll('<%= command.id %>', words(command))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const root = fileURLToPath(new URL('..', import.meta.url))
	const folder = `${root}docs/commands/`
	const pages = commandPages(JSON.parse(readFileSync(`${root}oclif.manifest.json`, 'utf8')).commands)
	mkdirSync(folder, { recursive: true })
	for (const name of readdirSync(folder)) if (!pages.has(name)) rmSync(folder + name)
	for (const [name, text] of pages) writeFileSync(folder + name, text)
}
