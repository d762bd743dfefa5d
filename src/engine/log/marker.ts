/** Reads the transaction marker of a control batch, for producer state. */

import {
	BATCH_HEADER_BYTES,
	batchBaseOffset,
	batchBaseTimestamp,
	batchBytes,
	batchRecordCount,
} from '../../protocol/records/batch.js'
import { RecordFormatError } from '../../protocol/records/fields.js'
import { decodeRecords, readMarker } from '../../protocol/records/record.js'
import type { MarkerFields } from './producer-state.js'

/** The marker in the control batch at `at`; null when it holds none (emptied by the cleaner, or another kind). */
export function markerOf(bytes: Buffer, at: number): MarkerFields | null {
	if (batchRecordCount(bytes, at) !== 1) return null
	try {
		const [record] = decodeRecords({
			bytes,
			at: at + BATCH_HEADER_BYTES,
			end: at + batchBytes(bytes, at),
			count: 1,
			baseOffset: batchBaseOffset(bytes, at),
			baseTimestamp: batchBaseTimestamp(bytes, at),
			appendMs: -1,
		})
		const marker = record === undefined ? null : readMarker(record)
		return marker === null ? null : { isAbort: marker.type === 'abort', coordinatorEpoch: marker.coordinatorEpoch }
	} catch (error) {
		if (error instanceof RecordFormatError) return null
		throw error
	}
}
