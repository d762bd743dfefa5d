import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFilters } from '../../src/cli/record-filter.js'
import { compileFormat } from '../../src/cli/record-format.js'
import { type InputRecord, lineParser, wholeParser } from '../../src/cli/record-input.js'
import { csvParser } from '../../src/cli/record-input-csv.js'
import { jsonParser } from '../../src/cli/record-input-json.js'
import { recordJson } from '../../src/cli/record-json.js'
import { ProducerBatch, type RecordHeaderInput } from '../../src/client/producer-batch.js'
import { RecordReader } from '../../src/client/record-reader.js'

interface Plain {
	readonly key: Buffer | null
	readonly value: Buffer | null
	readonly headers: readonly RecordHeaderInput[]
	readonly timestamp: number
}

const record = (given: Partial<Plain>): Plain => ({ key: null, value: null, headers: [], timestamp: 0, ...given })

/** Records as a consumer reads them, by way of a producer's batch. */
function readerOf(records: readonly Plain[], appendMs = -1): RecordReader {
	const batch = new ProducerBatch(0, 0)
	for (const [i, { key, value, headers, timestamp }] of records.entries()) {
		batch.append(timestamp, key, value, 0, value?.length ?? 0, headers, i)
	}
	const bytes = batch.stamp(-1n, -1, -1)
	return new RecordReader(bytes, 61, bytes.length, {
		baseOffset: 100,
		baseTimestamp: records[0]?.timestamp ?? 0,
		appendMs,
		recordCount: records.length,
		leaderEpoch: 4,
		isControl: false,
	})
}

class Text {
	parts: Buffer[] = []
	bytes(source: Buffer, from: number, end: number): void {
		this.parts.push(Buffer.from(source.subarray(from, end)))
	}
	byte(value: number): void {
		this.parts.push(Buffer.of(value))
	}
	text(value: string): void {
		this.parts.push(Buffer.from(value))
	}
	get all(): Buffer {
		return Buffer.concat(this.parts)
	}
}

function formatted(format: string, given: Partial<Plain>, nullText = ''): string {
	const into = new Text()
	const reader = readerOf([record(given)])
	reader.next()
	compileFormat(format)(reader, { topic: 'orders', partition: 3, nullText }, into)
	return into.all.toString('latin1')
}

/** What a parser emits for `input`, given in chunks of `size`. */
function parsed(
	make: (emit: Parameters<typeof lineParser>[1]) => { push(chunk: Buffer): void; end(): void },
	input: Buffer,
	size = 7,
) {
	const found: (InputRecord & { value: string | null; line: number })[] = []
	const parser = make((given, value, from, end, line) => {
		found.push({ ...given, value: value === null ? null : value.toString('utf8', from, end), line })
	})
	for (let at = 0; at < input.length; at += size) parser.push(input.subarray(at, at + size))
	parser.end()
	return found
}

const LINES = { delimiter: Buffer.from('\n'), keyDelimiter: null, key: null, isEmptyNull: false, nullValue: null }
const bytes = fc.oneof(
	fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
	fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
)
const maybe = fc.option(bytes, { nil: null })

describe('JSON records', () => {
	it('round trip without loss: random bytes, repeated headers, nulls and empties', () => {
		const records = fc.array(
			fc.record({
				key: maybe,
				value: maybe,
				headers: fc.array(fc.record({ key: bytes, value: maybe }), { maxLength: 4 }),
				timestamp: fc.integer({ min: 0, max: 2 ** 48 }),
			}),
			{ minLength: 1, maxLength: 5 },
		)
		fc.assert(
			fc.property(records, (given) => {
				const reader = readerOf(given)
				let text = ''
				while (reader.next()) text += `${recordJson('t', 0, reader, false)}\n`
				const read: Plain[] = []
				const parser = jsonParser({ isStrict: true, isPartitionKept: false, key: null }, (each, value, from, end) =>
					read.push({
						key: each.key,
						value: value === null ? null : Buffer.from(value.subarray(from, end)),
						headers: each.headers ?? [],
						timestamp: each.timestamp,
					}),
				)
				parser.push(Buffer.from(text))
				parser.end()
				expect(read).toEqual(given)
			}),
		)
	})

	it.each<[string, string, Partial<Plain>]>([
		[
			'kcat',
			'{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":5,"broker":0,"headers":["a","1","a",null],"key":"k","payload":"v"}',
			{
				key: Buffer.from('k'),
				value: Buffer.from('v'),
				timestamp: 5,
				headers: [
					{ key: Buffer.from('a'), value: Buffer.from('1') },
					{ key: Buffer.from('a'), value: null },
				],
			},
		],
		[
			'rpk',
			'{"topic":"t","key":"k","value":"v","headers":[{"key":"a","value":"1"}],"timestamp":5,"partition":0,"offset":1}',
			{
				key: Buffer.from('k'),
				value: Buffer.from('v'),
				timestamp: 5,
				headers: [{ key: Buffer.from('a'), value: Buffer.from('1') }],
			},
		],
		[
			'kaf, an object for a value',
			'{"key":"k","value":{"a":[1]},"headers":[{"Key":"a","Value":"1"}],"timestamp":"1970-01-01T00:00:00.005Z"}',
			{
				key: Buffer.from('k'),
				value: Buffer.from('{"a":[1]}'),
				timestamp: 5,
				headers: [{ key: Buffer.from('a'), value: Buffer.from('1') }],
			},
		],
		['a tombstone', '{"key":"k","value":null}', { key: Buffer.from('k'), timestamp: -1 }],
	])('takes a row of %s', (_name, line, wanted) => {
		const found = parsed(
			(emit) => jsonParser({ isStrict: true, isPartitionKept: false, key: null }, emit),
			Buffer.from(line),
		)
		const { value, ...rest } = record(wanted)
		expect(found).toMatchObject([{ ...rest, value: value?.toString() ?? null, headers: wanted.headers ?? null }])
	})

	it('refuses what JSON cannot hold, and takes whole pairs and escaped backslashes', () => {
		const parse = (line: Buffer | string) => {
			const options = { isStrict: true, isPartitionKept: false, key: null }
			return parsed((emit) => jsonParser(options, emit), Buffer.isBuffer(line) ? line : Buffer.from(line))
		}
		expect(() =>
			parse(Buffer.concat([Buffer.from('{"value":"a'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])),
		).toThrow(/line 1: this is not UTF-8/)
		for (const lone of ['\\ud800x', '\\uDC00', 'x\\\\\\ud800']) {
			expect(() => parse(`{"value":"${lone}"}`), lone).toThrow(/half of a surrogate pair/)
		}
		expect(parse('{"value":"\\ud83d\\ude00"}')).toMatchObject([{ value: '😀' }])
		expect(parse('{"value":"\\\\ud800"}')).toMatchObject([{ value: '\\ud800' }])
	})

	it.each([
		['{"key":', /line 2: this is no JSON/],
		['[1]', /line 2: this is no object/],
		['{"offset":1}', /line 2: there is no value/],
		['{"value":"!","valueEncoding":"base64"}', /no base64/],
		['{"value":"v","valeu":1}', /unknown field valeu/],
	])('names the line of %s', (line, message) => {
		const run = () =>
			parsed(
				(emit) => jsonParser({ isStrict: true, isPartitionKept: false, key: null }, emit),
				Buffer.from(`{"value":"a"}\n${line}\n`),
			)
		expect(run).toThrow(message)
	})
})

describe('lines', () => {
	it('give back every text byte for byte, whatever the chunks, the last line with or without its end', () => {
		fc.assert(
			fc.property(
				fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\r', 'é', '\0') }), { minLength: 1 }),
				fc.integer({ min: 1, max: 9 }),
				fc.boolean(),
				(lines, size, hasEnd) => {
					const text = lines.join('\n') + (hasEnd ? '\n' : '')
					const found = parsed((emit) => lineParser(LINES, emit), Buffer.from(text), size)
					const wanted = hasEnd || lines[lines.length - 1] !== '' ? lines : lines.slice(0, -1)
					expect(found.map(({ value }) => value)).toEqual(wanted)
					expect(found.map(({ line }) => line)).toEqual(wanted.map((_, i) => i + 1))
				},
			),
		)
	})

	it('part keys at the first delimiter, and know empty from null', () => {
		const input = Buffer.from('a=1=2\n=\nb=\nplain\nc=NULL')
		const options = {
			...LINES,
			keyDelimiter: Buffer.from('='),
			key: Buffer.from('fixed'),
			nullValue: Buffer.from('NULL'),
		}
		const shown = (isEmptyNull: boolean) =>
			parsed((emit) => lineParser({ ...options, isEmptyNull }, emit), input).map(({ key, value }) => [
				key?.toString() ?? null,
				value,
			])
		expect(shown(false)).toEqual([
			['a', '1=2'],
			['', ''],
			['b', ''],
			['fixed', 'plain'],
			['c', null],
		])
		expect(shown(true)).toEqual([
			['a', '1=2'],
			[null, null],
			['b', null],
			['fixed', 'plain'],
			['c', null],
		])
	})

	it('part at delimiters of several bytes that lie across chunks', () => {
		const found = parsed(
			(emit) => lineParser({ ...LINES, delimiter: Buffer.from('\r\n') }, emit),
			Buffer.from('a\nb\r\nc\r\n\r\nd'),
			1,
		)
		expect(found.map(({ value }) => value)).toEqual(['a\nb', 'c', '', 'd'])
	})

	it('a whole input is one record, its last line break included', () => {
		expect(parsed((emit) => wholeParser(LINES, emit), Buffer.from('a\nb\n'))).toMatchObject([
			{ value: 'a\nb\n', line: 1 },
		])
	})
})

describe('CSV', () => {
	const options = { isStrict: true, isPartitionKept: true, key: null, nullValue: 'NULL', isEmptyNull: false }
	it('reads quotes, line breaks within them, headers, nulls, and names the line of a row', () => {
		const text = 'key,value,header:a,partition,timestamp\r\nk1,"a ""b""\nc",1,2,5\r\n,NULL,"NULL",-1,\n'
		const found = parsed((emit) => csvParser(options, emit), Buffer.from(text), 3)
		expect(found).toMatchObject([
			{ key: Buffer.from('k1'), value: 'a "b"\nc', partition: 2, timestamp: 5000, line: 2 },
			{ key: Buffer.alloc(0), value: null, partition: -1, timestamp: -1, line: 4 },
		])
		expect(found[1]?.headers).toEqual([{ key: Buffer.from('a'), value: Buffer.from('NULL') }])
	})

	it.each([
		['value\n"a', /quote is not closed/],
		['key\nx', /no column 'value'/],
		['value,foo\n1,2', /unknown column foo/],
		['value,key\n1', /line 2: 1 cells/],
	])('refuses %j', (text, message) => {
		expect(() => parsed((emit) => csvParser(options, emit), Buffer.from(text))).toThrow(message)
	})
})

describe('formats', () => {
	const full = {
		key: Buffer.from('k'),
		value: Buffer.from('ab'),
		headers: [
			{ key: Buffer.from('x'), value: Buffer.from('1') },
			{ key: Buffer.from('y'), value: null },
			{ key: Buffer.from('x'), value: Buffer.from('2') },
		],
		timestamp: 1_714_557_600_123,
	}
	it.each([
		['%t [%p] %o: %k=%s\\n', 'orders [3] 100: k=ab\n'],
		['%S %V %K %T %e', '2 2 1 1714557600123 4'],
		['%d{iso} %d', '2024-05-01T10:00:00.123Z 2024-05-01T10:00:00.123Z'],
		['%h|%H{x}|%H{y}|%H{z}', 'x=1,y=NULL,x=2|2||'],
		['%v{hex} %k{base64} %v{json}', '6162 aw== "ab"'],
		['%R', '\0\0\0\u0002'],
		['100%% \\t\\x41\\\\ %v', '100% \tA\\ ab'],
	])('%s', (format, text) => expect(formatted(format, full)).toBe(text))

	it('null is nothing, -1 for a length, or what the user wants', () => {
		expect(formatted('%s|%k|%S|%K|%v{json}', {})).toBe('||-1|-1|null')
		expect(formatted('%s|%k', { key: Buffer.alloc(0) }, 'NULL')).toBe('NULL|')
	})

	it.each(['%x', '%', '%v{rot13}', '%H', '%d{unix}'])('refuses %s with the verbs there are', (format) => {
		expect(() => compileFormat(format)).toThrow(/format/)
	})
})

describe('filters', () => {
	const fits = (texts: string[], given: Partial<Plain>): boolean => {
		const reader = readerOf([record(given)])
		reader.next()
		return compileFilters(texts)?.(reader) ?? true
	}
	const given = {
		key: Buffer.from('user-1'),
		value: Buffer.from('Zürich 42'),
		headers: [{ key: Buffer.from('type'), value: Buffer.from('order') }],
	}
	it.each<[string[], boolean]>([
		[['ürich'], true],
		[['v:^Z.*2$'], true],
		[['k:^user'], true],
		[['!k:^user'], false],
		[['h:type=ord', 'k:1'], true],
		[['h:type', '!42'], false],
		[['h:other'], false],
		[['!h:other=x'], true],
	])('%j', (texts, wanted) => expect(fits(texts, given)).toBe(wanted))

	it('a null fits nothing', () => {
		expect(fits(['.*'], {})).toBe(false)
		expect(fits(['!.*'], {})).toBe(true)
	})

	it('refuses a broken pattern', () => expect(() => compileFilters(['('])).toThrow(/-G/))
})
