/**
 * Frames: int32 length, header, body. Request headers 0–2 and response headers 0–1 (apis.md §3).
 *
 * | header     | fields                                                              | used by                      |
 * |------------|---------------------------------------------------------------------|------------------------------|
 * | request 0  | api key int16, version int16, correlation int32                     | ControlledShutdown v0        |
 * | request 1  | the same, client id (nullable string, int16 length)                 | versions that are not flexible |
 * | request 2  | the same, tag section; the client id keeps its int16 length         | flexible versions            |
 * | response 0 | correlation int32                                                   | not flexible; ApiVersions always |
 * | response 1 | the same, tag section                                               | flexible versions            |
 */

import { requestCodec, responseCodec } from './compile.js'
import { ProtocolError, Reader } from './reader.js'
import type { Decoded, Family, Fields, Input } from './schema.js'
import { type Part, Writer } from './writer.js'

const API_VERSIONS = 18
const CONTROLLED_SHUTDOWN = 7

export interface RequestHeader {
	readonly apiKey: number
	readonly apiVersion: number
	readonly correlationId: number
	/** Null and absent are ''. */
	readonly clientId: string
}

/** Reads the first eight bytes, which every request header has. */
export function readApiKeyAndVersion(frame: Buffer): { apiKey: number; apiVersion: number } {
	if (frame.length < 8) throw new ProtocolError(`request of ${frame.length} bytes has no header`)
	return { apiKey: frame.readInt16BE(0), apiVersion: frame.readInt16BE(2) }
}

/** Reads the header of a request (frame without its length) and leaves the reader at the body. */
export function readRequestHeader(reader: Reader, headerVersion: 0 | 1 | 2): RequestHeader {
	const apiKey = reader.int16()
	const apiVersion = reader.int16()
	const correlationId = reader.int32()
	let clientId = ''
	if (headerVersion > 0) {
		const length = reader.int16()
		if (length >= 0) clientId = reader.text(length)
	}
	if (headerVersion === 2) reader.skipTags()
	return { apiKey, apiVersion, correlationId, clientId }
}

export function requestHeaderVersion(family: Family, version: number): 0 | 1 | 2 {
	if (version >= family.flexibleFrom) return 2
	return family.key === CONTROLLED_SHUTDOWN && version === 0 ? 0 : 1
}

/** A whole request frame as parts for a gather write. */
export function encodeRequest<Q extends Fields, P extends Fields>(
	family: Family<Q, P>,
	version: number,
	correlationId: number,
	clientId: string | null,
	message: Input<Q>,
): Part[] {
	const writer = new Writer()
	writer.int32(0)
	writer.int16(family.key)
	writer.int16(version)
	writer.int32(correlationId)
	const header = requestHeaderVersion(family as unknown as Family, version)
	if (header > 0) writer.string(clientId, false)
	if (header === 2) writer.int8(0)
	requestCodec(family, version).write(writer, message)
	return finished(writer)
}

/** A whole response frame as parts for a gather write. */
export function encodeResponse<Q extends Fields, P extends Fields>(
	family: Family<Q, P>,
	version: number,
	correlationId: number,
	message: Input<P>,
): Part[] {
	const writer = new Writer()
	writer.int32(0)
	writer.int32(correlationId)
	if (version >= family.flexibleFrom && family.key !== API_VERSIONS) writer.int8(0)
	responseCodec(family, version).write(writer, message)
	return finished(writer)
}

/** Decodes a response frame without its length. Throws {@link ProtocolError}. */
export function decodeResponse<Q extends Fields, P extends Fields>(
	family: Family<Q, P>,
	version: number,
	frame: Buffer,
): { correlationId: number; message: Decoded<P> } {
	const reader = new Reader(frame)
	const correlationId = reader.int32()
	if (version >= family.flexibleFrom && family.key !== API_VERSIONS) reader.skipTags()
	return { correlationId, message: responseCodec(family, version).read(reader) }
}

function finished(writer: Writer): Part[] {
	const length = writer.length - 4
	const parts = writer.finish()
	;(parts[0] as Buffer).writeInt32BE(length, 0)
	return parts
}
