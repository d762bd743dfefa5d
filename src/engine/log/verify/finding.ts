/** What an offline check of log files finds: one fault, named by file, position and offset. */

/**
 * `batch`: bytes that are no batch, or cut. `crc`: a batch with other bytes than it was written with. `record`: a batch whose
 * records contradict it. `order`: offsets that go backwards. `index`, `timeindex`, `txnindex`, `epochs`, `snapshot`,
 * `checkpoint`, `metadata`: a file that contradicts the log, or itself. `missing`: a file that should be there.
 */
export type FaultKind =
	| 'batch'
	| 'crc'
	| 'record'
	| 'order'
	| 'index'
	| 'timeindex'
	| 'txnindex'
	| 'epochs'
	| 'snapshot'
	| 'checkpoint'
	| 'metadata'
	| 'missing'

export interface Fault {
	readonly kind: FaultKind
	/** Path of the file. */
	readonly file: string
	/** Byte in the file, null when the fault has no place. */
	readonly position: number | null
	/** Offset in the log, null when it is not known. */
	readonly offset: number | null
	readonly problem: string
}

/** Gathers faults; of each kind in each file only the first so many, since one cause often shows many times. */
export class Faults {
	readonly all: Fault[] = []
	readonly #seen = new Map<string, number>()
	/** Faults that were left out of {@link all}. */
	more = 0

	add(kind: FaultKind, file: string, position: number | null, offset: number | null, problem: string): void {
		const key = `${kind} ${file}`
		const seen = this.#seen.get(key) ?? 0
		this.#seen.set(key, seen + 1)
		if (seen < KEPT_OF_A_KIND) this.all.push({ kind, file, position, offset, problem })
		else this.more++
	}
}

const KEPT_OF_A_KIND = 20
