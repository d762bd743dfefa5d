/** DescribeConfigs (key 32; KIP-226, KIP-569), AlterConfigs (33; KIP-133), IncrementalAlterConfigs (44; KIP-339). */

import { array, arrayOf, bool, family, int8, int16, int32, string } from '../schema.js'

export const describeConfigs = family({
	key: 32,
	name: 'DescribeConfigs',
	versions: '0-4',
	flexible: '4+',
	request: {
		resources: array('0+', {
			resourceType: int8('0+'),
			resourceName: string('0+'),
			configurationKeys: arrayOf('0+', string, { nullable: '0+' }),
		}),
		includeSynonyms: bool('1+', { default: false }),
		includeDocumentation: bool('3+', { default: false }),
	},
	response: {
		throttleTimeMs: int32('0+'),
		results: array('0+', {
			errorCode: int16('0+'),
			errorMessage: string('0+', { nullable: '0+' }),
			resourceType: int8('0+'),
			resourceName: string('0+'),
			configs: array('0+', {
				name: string('0+'),
				value: string('0+', { nullable: '0+' }),
				readOnly: bool('0+'),
				isDefault: bool('0'),
				configSource: int8('1+', { default: -1, ignorable: true }),
				isSensitive: bool('0+'),
				synonyms: array(
					'1+',
					{
						name: string('1+'),
						value: string('1+', { nullable: '0+' }),
						source: int8('1+'),
					},
					{ ignorable: true },
				),
				configType: int8('3+', { default: 0, ignorable: true }),
				documentation: string('3+', { nullable: '0+', ignorable: true }),
			}),
		}),
	},
})

export const alterConfigs = family({
	key: 33,
	name: 'AlterConfigs',
	versions: '0-2',
	flexible: '2+',
	request: {
		resources: array('0+', {
			resourceType: int8('0+'),
			resourceName: string('0+'),
			configs: array('0+', {
				name: string('0+'),
				value: string('0+', { nullable: '0+' }),
			}),
		}),
		validateOnly: bool('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		responses: array('0+', {
			errorCode: int16('0+'),
			errorMessage: string('0+', { nullable: '0+' }),
			resourceType: int8('0+'),
			resourceName: string('0+'),
		}),
	},
})

export const incrementalAlterConfigs = family({
	key: 44,
	name: 'IncrementalAlterConfigs',
	versions: '0-1',
	flexible: '1+',
	request: {
		resources: array('0+', {
			resourceType: int8('0+'),
			resourceName: string('0+'),
			configs: array('0+', {
				name: string('0+'),
				configOperation: int8('0+'),
				value: string('0+', { nullable: '0+' }),
			}),
		}),
		validateOnly: bool('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		responses: array('0+', {
			errorCode: int16('0+'),
			errorMessage: string('0+', { nullable: '0+' }),
			resourceType: int8('0+'),
			resourceName: string('0+'),
		}),
	},
})
