/** SaslHandshake (key 17; KIP-43), ApiVersions (key 18; KIP-35, KIP-511, KIP-584), SaslAuthenticate (key 36; KIP-152, KIP-368). */

import { array, arrayOf, bool, bytes, family, int16, int32, int64, string } from '../schema.js'

export const saslHandshake = family({
	key: 17,
	name: 'SaslHandshake',
	versions: '0-1',
	flexible: 'none',
	request: {
		mechanism: string('0+'),
	},
	response: {
		errorCode: int16('0+'),
		mechanisms: arrayOf('0+', string),
	},
})

export const apiVersions = family({
	key: 18,
	name: 'ApiVersions',
	versions: '0-4',
	flexible: '3+',
	request: {
		clientSoftwareName: string('3+', { ignorable: true }),
		clientSoftwareVersion: string('3+', { ignorable: true }),
	},
	response: {
		errorCode: int16('0+'),
		apiKeys: array('0+', {
			apiKey: int16('0+'),
			minVersion: int16('0+'),
			maxVersion: int16('0+'),
		}),
		throttleTimeMs: int32('1+', { ignorable: true }),
		supportedFeatures: array(
			'3+',
			{
				name: string('3+'),
				minVersion: int16('3+'),
				maxVersion: int16('3+'),
			},
			{ tag: 0, ignorable: true },
		),
		finalizedFeaturesEpoch: int64('3+', { default: -1, tag: 1, ignorable: true }),
		finalizedFeatures: array(
			'3+',
			{
				name: string('3+'),
				maxVersionLevel: int16('3+'),
				minVersionLevel: int16('3+'),
			},
			{ tag: 2, ignorable: true },
		),
		zkMigrationReady: bool('3+', { default: false, tag: 3, ignorable: true }),
	},
})

export const saslAuthenticate = family({
	key: 36,
	name: 'SaslAuthenticate',
	versions: '0-2',
	flexible: '2+',
	request: {
		authBytes: bytes('0+'),
	},
	response: {
		errorCode: int16('0+'),
		errorMessage: string('0+', { nullable: '0+' }),
		authBytes: bytes('0+'),
		sessionLifetimeMs: int64('1+', { default: 0, ignorable: true }),
	},
})
