/** What ends a pass, as plain values and back: an error's class does not pass from thread to thread by itself. */

import { CodecError } from '../../../base/compression.js'
import { RecordFormatError } from '../../../protocol/records/fields.js'
import { DiskError } from '../../../runtime/ports.js'
import { SegmentDamage } from '../segment.js'
import { IndexDamage } from '../sparse-index.js'
import { CleaningAborted } from './pass-job.js'

export type PackedError =
	| { readonly kind: 'disk'; readonly operation: string; readonly path: string; readonly code: string }
	| { readonly kind: 'segment'; readonly path: string; readonly position: number; readonly problem: string }
	| { readonly kind: 'index'; readonly path: string; readonly problem: string }
	| {
			readonly kind: 'codec'
			readonly codec: CodecError['codec']
			readonly reason: CodecError['reason']
			readonly text: string
	  }
	| { readonly kind: 'record' | 'aborted' | 'other'; readonly text: string }

export function packError(error: unknown): PackedError {
	if (error instanceof DiskError) {
		const { operation, path, code } = error
		return { kind: 'disk', operation, path, code }
	}
	if (error instanceof SegmentDamage) {
		const { path, position, problem } = error
		return { kind: 'segment', path, position, problem }
	}
	if (error instanceof IndexDamage) return { kind: 'index', path: error.path, problem: error.problem }
	if (error instanceof CodecError) {
		const { codec, reason, message } = error
		return { kind: 'codec', codec, reason, text: message.slice(`${codec}: `.length) }
	}
	if (error instanceof RecordFormatError) return { kind: 'record', text: error.message }
	if (error instanceof CleaningAborted) return { kind: 'aborted', text: error.message }
	return { kind: 'other', text: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

export function unpackError(packed: PackedError): Error {
	switch (packed.kind) {
		case 'disk':
			return new DiskError(packed.operation, packed.path, packed.code)
		case 'segment':
			return new SegmentDamage(packed.path, packed.position, packed.problem)
		case 'index':
			return new IndexDamage(packed.path, packed.problem)
		case 'codec':
			return new CodecError(packed.codec, packed.reason, packed.text)
		case 'record':
			return new RecordFormatError(packed.text)
		case 'aborted':
			return new CleaningAborted(packed.text)
		case 'other':
			return new Error(packed.text)
	}
}
