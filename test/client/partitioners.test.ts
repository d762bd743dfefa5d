import { describe, expect, it } from 'vitest'
import { crc32 } from '../../src/base/crc32.js'
import { murmur2, partitioner } from '../../src/client/partitioners.js'

describe('partitioners', () => {
	// The vectors of Apache Kafka's own UtilsTest.testMurmur2.
	it.each([
		['21', -973932308],
		['foobar', -790332482],
		['a-little-bit-long-string', -985981536],
		['a-little-bit-longer-string', -1486304829],
		['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
		['abc', 479470107],
	])('murmur2 of %s is what Java computes', (text, hash) => {
		expect(murmur2(Buffer.from(text))).toBe(hash)
	})

	it('java: the same key goes to the same partition, by the positive hash', () => {
		const java = partitioner('java', () => 0)
		expect(java.choose(Buffer.from('foobar'), 7)).toBe((-790332482 & 0x7fffffff) % 7)
		expect(java.choose(Buffer.alloc(0), 7)).toBe((murmur2(Buffer.alloc(0)) & 0x7fffffff) % 7)
	})

	it('java: records without key stay until the batch is closed', () => {
		const draws = [0.1, 0.9]
		const java = partitioner('java', () => draws.shift() as number)
		const chosen = [java.choose(null, 10), java.choose(null, 10)]
		java.batchClosed()
		expect([...chosen, java.choose(null, 10)]).toEqual([1, 1, 9])
	})

	it('librdkafka: CRC-32 of the key; without one, or an empty one, at random', () => {
		const crc = partitioner('librdkafka', () => 0.99)
		expect(crc.choose(Buffer.from('kafka'), 5)).toBe(crc32(Buffer.from('kafka')) % 5)
		expect([crc.choose(null, 5), crc.choose(Buffer.alloc(0), 5)]).toEqual([4, 4])
	})
})
