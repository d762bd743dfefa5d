/** Where the files of a broker lie, for commands that work without one. */

import { Flags } from '../oclif.js'

export const dataDirFlag = {
	'data-dir': Flags.string({
		description: 'Data folder in which TOPIC:PARTITION is looked for.',
		default: '.kcli-data',
		env: 'KCLI_DATA_DIR',
	}),
}
