/** Behind `kcli topic create`. */

import { ERROR, errorLabel } from '../protocol/errors.js'
import { EXIT } from './errors.js'
import { parsePair, settingValue } from './parse.js'
import { type ConnectionChoice, withCluster } from './session.js'

export interface CreateChoice extends ConnectionChoice {
	readonly partitions: number | undefined
	readonly 'replication-factor': number | undefined
	readonly config: readonly string[] | undefined
	readonly 'if-not-exists': boolean
	readonly 'dry-run': boolean
	readonly json: boolean
}

/** Creates the named topics; the exit code. */
export async function createTopics(names: readonly string[], flags: CreateChoice): Promise<number> {
	const configs = new Map<string, string>()
	for (const text of flags.config ?? []) {
		const [key, value] = parsePair(text, '-c')
		configs.set(key, settingValue(key, value))
	}
	return await withCluster(flags, async ({ admin }) => {
		const results = await admin.createTopics(
			names.map((name) => ({
				name,
				partitions: flags.partitions ?? -1,
				replicationFactor: flags['replication-factor'] ?? -1,
				assignments: null,
				configs,
			})),
			flags['dry-run'],
		)
		let code: number = EXIT.done
		for (const { name, errorCode, message } of results) {
			const isThere = errorCode === ERROR.TOPIC_ALREADY_EXISTS && flags['if-not-exists']
			if (errorCode === ERROR.NONE) process.stdout.write(`created ${name}\n`)
			else if (isThere) process.stdout.write(`${name} is there already\n`)
			else {
				code = EXIT.failed
				process.stderr.write(`kcli: ${name}: ${message ?? ''} [${errorLabel(errorCode)}]\n`)
			}
		}
		return code
	})
}
