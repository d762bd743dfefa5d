/** The plain record bytes of a stored v2 batch, and what of a log's surroundings reading and writing batches needs. */

import { CodecError, type Compression } from '../../../base/compression.js'
import { BATCH_HEADER_BYTES } from '../../../protocol/records/batch.js'
import { batchCodec, codecName, decompressStream } from '../../../protocol/records/compression.js'

export interface PassServices {
	readonly compression: Compression
	/** The most bytes that one batch may decompress to. */
	readonly decompressedBytesMax: number
}

/** Record bytes of the one whole batch `batch`: a slice of it, or decompressed. Throws or rejects with `CodecError`. */
export function plainRecords(services: PassServices, batch: Buffer): Buffer | Promise<Buffer> {
	const id = batchCodec(batch, 0)
	const codec = codecName(id)
	const stream = batch.subarray(BATCH_HEADER_BYTES)
	if (codec === 'none') return stream
	if (codec === null) throw new CodecError('gzip', 'broken', `unknown codec ${id}`)
	return decompressStream(services.compression, codec, stream, services.decompressedBytesMax)
}
