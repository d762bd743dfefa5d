/** Which Kafka release a broker speaks, read from the versions that it serves: brokers do not say it themselves. */

import type { BrokerConnection } from '../client/connection.js'

/** Newest first: the release that first served this version of this call. Releases that added none have no row. */
const FIRST_SERVED: readonly { readonly release: string; readonly key: number; readonly version: number }[] = [
	{ release: '4.1', key: 1, version: 18 },
	{ release: '4.0', key: 0, version: 12 },
	{ release: '3.9', key: 1, version: 17 },
	{ release: '3.8', key: 16, version: 5 },
	{ release: '3.7', key: 1, version: 16 },
	{ release: '3.5', key: 1, version: 15 },
	{ release: '3.1', key: 1, version: 13 },
	{ release: '3.0', key: 2, version: 7 },
	{ release: '2.8', key: 3, version: 11 },
	{ release: '2.7', key: 1, version: 12 },
	{ release: '2.6', key: 16, version: 4 },
	{ release: '2.4', key: 3, version: 9 },
	{ release: '2.3', key: 1, version: 11 },
	{ release: '2.1', key: 1, version: 10 },
	{ release: '2.0', key: 1, version: 8 },
	{ release: '1.1', key: 1, version: 7 },
	{ release: '1.0', key: 1, version: 6 },
	{ release: '0.11', key: 1, version: 5 },
]

/** `3.9`; `before 0.11` for what is older than the table. A newer broker shows as the newest row that it serves. */
export function servedRelease({ versions }: Pick<BrokerConnection, 'versions'>): string {
	const row = FIRST_SERVED.find(({ key, version }) => (versions.get(key)?.max ?? -1) >= version)
	return row?.release ?? 'before 0.11'
}
