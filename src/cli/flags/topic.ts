/** Flags of the topic commands. */

import { Flags } from '../oclif.js'

/** Topics may be named by flag too, as other tools want it. */
export const topicFlag = {
	topic: Flags.string({
		char: 't',
		description: 'Topic, as the argument.',
		helpValue: 'NAME',
		multiple: true,
		multipleNonGreedy: true,
	}),
}

export const topicPatternFlags = {
	...topicFlag,
	regex: Flags.boolean({ char: 'r', description: 'Names are regular expressions that fit whole names.' }),
	internal: Flags.boolean({ description: "Also Kafka's own topics and those of mirrors." }),
}

export const topicSettingFlag = {
	config: Flags.string({
		char: 'c',
		aliases: ['topic-config', 'set'],
		description: 'Setting of the topic; units such as 7d and 1GiB are understood.',
		helpValue: 'KEY=VALUE',
		multiple: true,
		multipleNonGreedy: true,
	}),
}
