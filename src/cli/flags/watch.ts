/** Flags of commands that show a state which moves. */

import { Flags } from '../oclif.js'

export const watchFlags = {
	// No default: a flag that has a value would count as given, for --interval.
	watch: Flags.boolean({
		char: 'w',
		description: 'Show it again and again until Ctrl-C; JSON is then one document a line.',
		helpGroup: 'OUTPUT',
	}),
	interval: Flags.string({
		description: 'Time between two showings of --watch. Default 2s.',
		dependsOn: ['watch'],
		helpGroup: 'OUTPUT',
	}),
}
