/**
 * Schema × version → functions that read and write it, made at first use and kept. The source that is made for a version
 * has no branch on version or flexibility left: 2 to 3 times as fast as walking the schema. Each source carries a
 * `sourceURL`, so stacks and profiles show `kcli/fetch-request-v11`. A plain interpreter of the same schema stands in
 * `test/protocol/` and must agree on random messages.
 */

import { assert } from '../base/assert.js'
import { ProtocolError, Reader } from './reader.js'
import {
	type DataFormat,
	type Decoded,
	defaultOf,
	type Family,
	type Field,
	type Fields,
	type Input,
	inVersions,
	parseVersions,
} from './schema.js'
import { Writer } from './writer.js'

export type Read<F extends Fields> = (reader: Reader) => Decoded<F>
export type Write<F extends Fields> = (writer: Writer, message: Input<F>) => void

export interface Codec<F extends Fields> {
	readonly read: Read<F>
	readonly write: Write<F>
}

const codecs = new WeakMap<Fields, Map<number, Codec<Fields>>>()

/**
 * The codec of one set of fields in one version. `flexibleFrom` is the message's first flexible version. A strict writer
 * throws on a value that the version cannot carry, unless the field is ignorable: in requests that is an error of the
 * caller. Responses are not strict: a handler fills in all it knows, and an older client gets what its version has.
 */
export function codecOf<F extends Fields>(
	fields: F,
	version: number,
	flexibleFrom: number,
	name: string,
	isStrict = true,
): Codec<F> {
	let versions = codecs.get(fields)
	if (versions === undefined) {
		versions = new Map()
		codecs.set(fields, versions)
	}
	let codec = versions.get(version)
	if (codec === undefined) {
		codec = compile(fields, new Compiler(version, version >= flexibleFrom, isStrict, `${name}-v${version}`))
		versions.set(version, codec)
	}
	return codec as Codec<F>
}

export function requestCodec<Q extends Fields, P extends Fields>(family: Family<Q, P>, version: number): Codec<Q> {
	assert(inVersions(family.versions, version), `${family.name} has no version ${version}`)
	return codecOf(family.request, version, family.flexibleFrom, `${family.name}-request`)
}

export function responseCodec<Q extends Fields, P extends Fields>(family: Family<Q, P>, version: number): Codec<P> {
	assert(inVersions(family.versions, version), `${family.name} has no version ${version}`)
	return codecOf(family.response, version, family.flexibleFrom, `${family.name}-response`, false)
}

/** Encodes a data format with its leading int16 version (records of internal topics, consumer protocol blobs). */
export function encodeData<F extends Fields>(format: DataFormat<F>, version: number, message: Input<F>): Buffer {
	const writer = new Writer(128)
	writer.int16(version)
	codecOf(format.fields, version, format.flexibleFrom, format.name).write(writer, message)
	return writer.finishBuffer()
}

/**
 * Decodes a data format by its leading version. A version above the known ones is read as the newest known one where
 * `lenient` says so (consumer protocol: readers take the known prefix). Throws {@link ProtocolError}.
 */
export function decodeData<F extends Fields>(
	format: DataFormat<F>,
	bytes: Buffer,
	lenient = false,
): { version: number; message: Decoded<F> } {
	const reader = new Reader(bytes)
	const version = reader.int16()
	if (version < format.versions.min || (version > format.versions.max && !lenient)) {
		throw new ProtocolError(`${format.name}: unknown version ${version}`)
	}
	const known = Math.min(version, format.versions.max)
	const message = codecOf(format.fields, known, format.flexibleFrom, format.name).read(reader)
	return { version, message }
}

/** The JavaScript source of one codec, for `scripts/print-codec.mjs` and for curious readers. */
export function sourceOf(fields: Fields, version: number, flexible: boolean, name: string): string {
	return new Compiler(version, flexible, true, name).source(fields)
}

function compile(fields: Fields, compiler: Compiler): Codec<Fields> {
	const make = new Function('defaults', 'isDefault', 'Writer', 'ProtocolError', compiler.source(fields)) as (
		defaults: readonly Field<unknown>[],
		isDefault: unknown,
		writer: unknown,
		error: unknown,
	) => Codec<Fields>
	return make(compiler.defaults, isDefault, Writer, ProtocolError)
}

/** True when `value` is what a version without the field would have decoded. */
export function isDefault(field: Field<unknown>, value: unknown): boolean {
	if (value === undefined) return true
	const given = field.options.default
	if (value === null) return given === null
	switch (field.kind) {
		case 'array':
			return given !== null && (value as unknown[]).length === 0
		case 'bytes':
		case 'records':
			return given !== null && (value as Buffer).length === 0
		case 'struct': {
			if (given === null) return false
			for (const [name, inner] of Object.entries(field.fields as Fields)) {
				if (!isDefault(inner, (value as Record<string, unknown>)[name])) return false
			}
			return true
		}
		default:
			return value === defaultOf(field)
	}
}

const SIZE_MIN: Readonly<Record<string, number>> = {
	bool: 1,
	int8: 1,
	int16: 2,
	uint16: 2,
	int32: 4,
	uint32: 4,
	int64: 8,
	bigint64: 8,
	float64: 8,
	uuid: 16,
}

const PRIMITIVES = new Set(Object.keys(SIZE_MIN))

class Compiler {
	readonly defaults: Field<unknown>[] = []
	readonly #version: number
	readonly #flexible: boolean
	readonly #isStrict: boolean
	readonly #name: string
	readonly #functions: string[] = []
	#count = 0

	constructor(version: number, flexible: boolean, isStrict: boolean, name: string) {
		this.#version = version
		this.#flexible = flexible
		this.#isStrict = isStrict
		this.#name = name.replace(/[^\w-]/g, '')
	}

	source(fields: Fields): string {
		const read = this.#reader(fields)
		const write = this.#writer(fields)
		return `'use strict'\n${this.#functions.join('\n')}\nreturn { read: ${read}, write: ${write} }\n//# sourceURL=kcli/${this.#name}`
	}

	#isTagged(field: Field<unknown>): boolean {
		const { tag, tagged } = field.options
		if (tag === undefined) return false
		return tagged === undefined || inVersions(parseVersions(tagged), this.#version)
	}

	#present(field: Field<unknown>): boolean {
		return inVersions(parseVersions(field.versions), this.#version)
	}

	#nullable(field: Field<unknown>): boolean {
		const { nullable } = field.options
		return nullable !== undefined && inVersions(parseVersions(nullable), this.#version)
	}

	#flexibleOf(field: Field<unknown>): boolean {
		return this.#flexible && field.options.flexible !== 'none'
	}

	/** A JavaScript expression of the field's default. */
	#default(field: Field<unknown>): string {
		const value = defaultOf(field)
		if (typeof value === 'bigint') return `${value}n`
		if (value === null || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') {
			return JSON.stringify(value)
		}
		if (field.kind === 'array') return '[]'
		if (field.kind === 'struct') {
			const inner = Object.entries(field.fields as Fields).map(([name, at]) => `${name}: ${this.#default(at)}`)
			return `{ ${inner.join(', ')} }`
		}
		return 'Buffer.alloc(0)'
	}

	#fieldRef(field: Field<unknown>): string {
		this.defaults.push(field)
		return `defaults[${this.defaults.length - 1}]`
	}

	/** Adds a function that reads a struct and returns its name. */
	#reader(fields: Fields): string {
		const id = `read${this.#count++}`
		const lines: string[] = []
		const tagged: [string, Field<unknown>][] = []
		const values: string[] = []
		for (const [name, field] of Object.entries(fields)) {
			if (!this.#present(field)) {
				values.push(`${name}: ${this.#default(field)}`)
				continue
			}
			if (this.#isTagged(field)) {
				tagged.push([name, field])
				lines.push(`let ${name} = ${this.#default(field)}`)
			} else lines.push(`const ${name} = ${this.#readValue(field)}`)
			values.push(name)
		}
		if (this.#flexible) {
			if (tagged.length === 0) lines.push('r.skipTags()')
			else {
				const cases = tagged.map(
					([name, field]) => `case ${field.options.tag}: ${name} = ${this.#readValue(field)}; break`,
				)
				lines.push(
					'for (let count = r.uvarint(); count > 0; count--) {',
					'const tag = r.uvarint(), size = r.uvarint(), end = r.at + size',
					`switch (tag) { ${cases.join('; ')}; default: r.take(size) }`,
					`if (r.at !== end) throw new ProtocolError('tag ' + tag + ' has a wrong size')`,
					'}',
				)
			}
		}
		this.#functions.push(`function ${id}(r) {\n${lines.join('\n')}\nreturn { ${values.join(', ')} }\n}`)
		return id
	}

	#readValue(field: Field<unknown>): string {
		if (PRIMITIVES.has(field.kind)) return `r.${field.kind}()`
		const id = `value${this.#count++}`
		const flexible = this.#flexibleOf(field)
		const missing = this.#nullable(field) ? 'return null' : `throw new ProtocolError('null where none may be')`
		let body: string
		if (field.kind === 'string') body = `const n = r.stringLength(${flexible}); if (n < 0) ${missing}; return r.text(n)`
		else if (field.kind === 'bytes' || field.kind === 'records') {
			body = `const n = r.longLength(${flexible}); if (n < 0) ${missing}; return r.slice(n)`
		} else if (field.kind === 'array') {
			const element = field.element as Field<unknown>
			body = `const n = r.longLength(${flexible}); if (n < 0) ${missing}
r.expect(n, ${Math.max(1, this.#sizeMin(element))})
const list = []
for (let i = 0; i < n; i++) list.push(${this.#readValue(element)})
return list`
		} else {
			const inner = `${this.#reader(field.fields as Fields)}(r)`
			if (!this.#nullable(field)) return inner
			body = `if (r.int8() < 0) return null; return ${inner}`
		}
		this.#functions.push(`function ${id}(r) { ${body} }`)
		return `${id}(r)`
	}

	/** Fewest bytes a value can take, to hold a claimed count against the bytes left. */
	#sizeMin(field: Field<unknown>): number {
		const fixed = SIZE_MIN[field.kind]
		if (fixed !== undefined) return fixed
		if (field.kind === 'string') return this.#flexibleOf(field) ? 1 : 2
		if (field.kind !== 'struct') return this.#flexible ? 1 : 4
		let sum = this.#flexible ? 1 : 0
		for (const inner of Object.values(field.fields as Fields)) {
			if (this.#present(inner) && !this.#isTagged(inner)) sum += this.#sizeMin(inner)
		}
		return sum
	}

	#writer(fields: Fields): string {
		const id = `write${this.#count++}`
		const lines: string[] = []
		const tagged: [string, Field<unknown>][] = []
		for (const [name, field] of Object.entries(fields)) {
			if (!this.#present(field)) {
				if (this.#isStrict && field.options.ignorable !== true) {
					const what = JSON.stringify(`${this.#name}: field ${name} is not in this version`)
					lines.push(
						`if (m.${name} !== undefined && !isDefault(${this.#fieldRef(field)}, m.${name})) throw new RangeError(${what})`,
					)
				}
				continue
			}
			if (this.#isTagged(field)) {
				tagged.push([name, field])
				continue
			}
			lines.push(`const ${name} = m.${name}`)
			const value = `(${name} === undefined ? ${this.#default(field)} : ${name})`
			lines.push(this.#writeValue(field, value))
		}
		if (this.#flexible) this.#writeTags(tagged, lines)
		this.#functions.push(`function ${id}(w, m) {\n${lines.join('\n')}\n}`)
		return id
	}

	#writeTags(tagged: [string, Field<unknown>][], lines: string[]): void {
		if (tagged.length === 0) {
			lines.push('w.int8(0)')
			return
		}
		tagged.sort((a, b) => (a[1].options.tag as number) - (b[1].options.tag as number))
		lines.push('let tags = 0')
		for (const [name, field] of tagged) {
			lines.push(`const has_${name} = !isDefault(${this.#fieldRef(field)}, m.${name})`, `if (has_${name}) tags++`)
		}
		lines.push('w.uvarint(tags)')
		for (const [name, field] of tagged) {
			lines.push(
				`if (has_${name}) { const inner = new Writer(64); { const w = inner; ${this.#writeValue(field, `m.${name}`)} }`,
				`const bytes = inner.finishBuffer(); w.uvarint(${field.options.tag}); w.uvarint(bytes.length); w.raw(bytes) }`,
			)
		}
	}

	#writeValue(field: Field<unknown>, value: string): string {
		const flexible = this.#flexibleOf(field)
		if (PRIMITIVES.has(field.kind)) return `w.${field.kind}(${value})`
		const refuse = this.#nullable(field)
			? ''
			: `if (${value} === null) throw new RangeError(${JSON.stringify(`${this.#name}: null is not allowed here`)})\n`
		if (field.kind === 'string') return `${refuse}w.string(${value}, ${flexible})`
		if (field.kind === 'bytes') return `${refuse}w.byteString(${value}, ${flexible})`
		if (field.kind === 'records') return `${refuse}w.records(${value}, ${flexible})`
		if (field.kind === 'array') {
			const id = `list${this.#count++}`
			const element = this.#writeValue(field.element as Field<unknown>, 'list[i]')
			this.#functions.push(`function ${id}(w, list) {
if (list === null) { w.length32(-1, ${flexible}); return }
w.length32(list.length, ${flexible})
for (let i = 0; i < list.length; i++) { ${element} }
}`)
			return `${refuse}${id}(w, ${value})`
		}
		const inner = this.#writer(field.fields as Fields)
		if (!this.#nullable(field)) return `${refuse}${inner}(w, ${value})`
		return `if (${value} === null) w.int8(-1); else { w.int8(1); ${inner}(w, ${value}) }`
	}
}
