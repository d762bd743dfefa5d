/**
 * ApiVersions (key 18, versions 0–4; KIP-35, KIP-511, KIP-584): the list of what is served, made from the handlers.
 * 3 and up check the client's software name and version. No features are supported or finalized in ZooKeeper mode; the
 * finalized epoch is the version of `/feature`. SaslHandshake and SaslAuthenticate (keys 17, 36).
 */

import { ERROR } from '../../protocol/errors.js'
import { apiVersions, saslAuthenticate, saslHandshake } from '../../protocol/messages/handshake.js'
import { type Handler, handler } from './dispatch.js'

const SOFTWARE = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/

/** `served` is asked at each request, since the list is complete only when all handlers are made. */
export function apiVersionsHandler(served: () => readonly Handler[], featureEpoch: () => number): Handler {
	return handler(apiVersions, {
		handle(request, { version }) {
			if (version >= 3) {
				const isLegal = SOFTWARE.test(request.clientSoftwareName) && SOFTWARE.test(request.clientSoftwareVersion)
				if (!isLegal) return { errorCode: ERROR.INVALID_REQUEST, apiKeys: [], throttleTimeMs: 0 }
			}
			return {
				errorCode: ERROR.NONE,
				apiKeys: served().map(({ family, versionMax }) => ({
					apiKey: family.key,
					minVersion: family.versions.min,
					maxVersion: versionMax,
				})),
				throttleTimeMs: 0,
				finalizedFeaturesEpoch: featureEpoch(),
			}
		},
		fail: (_request, errorCode) => ({
			errorCode,
			apiKeys: [
				{ apiKey: apiVersions.key, minVersion: apiVersions.versions.min, maxVersion: apiVersions.versions.max },
			],
			throttleTimeMs: 0,
		}),
	})
}

/** SASL on a listener that has none answers 34 (semantics 26.8). Listeners with SASL are not served yet. */
export function saslHandlers(): Handler[] {
	return [
		handler(saslHandshake, {
			handle: () => ({ errorCode: ERROR.ILLEGAL_SASL_STATE, mechanisms: [] }),
			fail: (_request, errorCode) => ({ errorCode, mechanisms: [] }),
		}),
		handler(saslAuthenticate, {
			handle: () => ({ ...NOT_AUTHENTICATED, errorCode: ERROR.ILLEGAL_SASL_STATE }),
			fail: (_request, errorCode) => ({ ...NOT_AUTHENTICATED, errorCode }),
		}),
	]
}

const NOT_AUTHENTICATED = {
	errorMessage: 'SaslAuthenticate request received before a successful SaslHandshake.',
	authBytes: Buffer.alloc(0),
}
