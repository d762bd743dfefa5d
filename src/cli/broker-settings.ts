/** What a broker is started with: the file, `-c`, flags and what suits a single machine, checked. Behind `kcli broker start`. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseProperties } from '../base/properties.js'
import { BrokerConfig, ConfigError } from '../engine/config.js'
import { BROKER_KEYS } from '../engine/config-broker-keys.js'
import { reportConfig } from '../engine/config-classes.js'
import type { Logger } from '../runtime/logger.js'
import { checkListeners, settingFailure } from './broker-failure.js'
import type { BrokerFlags } from './broker-process.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { usageError } from './errors.js'
import { parsePair, settingValue } from './parse.js'

const DEFAULT_LISTENER = 'PLAINTEXT://127.0.0.1:9092'
const DEFAULT_DATA_DIR = '.kcli-data'

/** File, then `-c`, then flags: the later beats the earlier. */
export function gatherSettings(flags: BrokerFlags): Map<string, string> {
	const given = new Map<string, string>()
	if (flags.configFile !== null) {
		let text: string
		try {
			text = readFileSync(flags.configFile, 'utf8')
		} catch (error) {
			throw usageError(`cannot read ${flags.configFile}: ${(error as NodeJS.ErrnoException).code}`)
		}
		for (const [key, value] of parseProperties(text)) given.set(key, value)
	}
	for (const setting of flags.settings) {
		const [key, value] = parsePair(setting, '-c')
		given.set(key, settingValue(key, value.trim()))
	}
	if (flags.id !== null) given.set('broker.id', String(flags.id))
	if (flags.rack !== null) given.set('broker.rack', flags.rack)
	if (flags.listen.length > 0) given.set('listeners', flags.listen.join(','))
	if (flags.advertised.length > 0) given.set('advertised.listeners', flags.advertised.join(','))
	if (!given.has('listeners')) given.set('listeners', DEFAULT_LISTENER)
	const dirs = flags.dataDirs.flatMap((each) => each.split(',')).filter((each) => each !== '')
	if (dirs.length > 0) {
		given.delete('log.dir')
		given.set('log.dirs', dirs.map((each) => resolve(each)).join(','))
	} else if (!given.has('log.dirs') && !given.has('log.dir')) {
		given.set('log.dirs', resolve(DEFAULT_DATA_DIR, `broker-${given.get('broker.id') ?? '1'}`))
	}
	return given
}

/**
 * The settings as the broker takes them. `isAlone`: no ZooKeeper is named, so that what suits one machine holds where nothing
 * was said. Throws a usage error.
 */
export function checkedSettings(
	flags: BrokerFlags,
	given: Map<string, string>,
	isAlone: boolean,
	log: Logger,
): BrokerConfig {
	checkListeners(flags)
	const taken = isAlone ? addSingleMachineDefaults(given) : []
	try {
		const config = new BrokerConfig(given)
		const { ineffective, unknown } = reportConfig(config)
		refuseUnknown(flags, unknown)
		if (taken.length > 0) log.info('single machine defaults', { settings: taken.join(' ') })
		if (ineffective.length > 0) log.info('settings of no effect here', { keys: ineffective.join(',') })
		if (unknown.length > 0) {
			const meant = unknown.flatMap((key) => closeMatches(key, KNOWN).slice(0, 1))
			log.warn('unknown settings ignored', { keys: unknown.join(','), hint: didYouMean([...new Set(meant)]) })
		}
		return config
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error
		throw settingFailure(error, flags)
	}
}

const KNOWN = BROKER_KEYS.map(({ name }) => name)

/** A file may hold what others read; what is typed is meant for us, and a slip of it would be lost without a word. */
function refuseUnknown({ settings }: BrokerFlags, unknown: readonly string[]): void {
	const typed = settings.map((setting) => parsePair(setting, '-c')[0])
	const wrong = unknown.filter((key) => typed.includes(key))
	if (wrong.length === 0) return
	throw usageError(
		`-c ${wrong.join(', ')}: there is no such setting`,
		didYouMean(wrong.flatMap((key) => closeMatches(key, KNOWN))) ?? 'docs/configuration.md lists the settings.',
	)
}

/** One machine, nothing said: settings that suit it (DESIGN "Single machine defaults"). What was set, as `key=value`. */
function addSingleMachineDefaults(given: Map<string, string>): string[] {
	const taken: string[] = []
	for (const [key, value] of Object.entries(SINGLE_MACHINE)) {
		if (given.has(key)) continue
		given.set(key, value)
		taken.push(`${key}=${value}`)
	}
	return taken
}

const SINGLE_MACHINE: Readonly<Record<string, string>> = {
	'broker.id': '1',
	'offsets.topic.replication.factor': '1',
	'transaction.state.log.replication.factor': '1',
	'transaction.state.log.min.isr': '1',
	'group.initial.rebalance.delay.ms': '0',
}
