import { describe, expect, it } from 'vitest'
import { ScramClient } from '../../src/client/scram.js'
import { NodeDigest } from '../../src/runtime/node-digest.js'

const digest = new NodeDigest()

describe('SCRAM', () => {
	it('speaks the exchange of RFC 7677 word for word', async () => {
		const scram = new ScramClient('sha256', 'user', 'pencil', 'rOprNGfwEbeRWgbNEkqO', digest)
		expect(scram.first().toString()).toBe('n,,n=user,r=rOprNGfwEbeRWgbNEkqO')
		const serverFirst = 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096'
		expect((await scram.final(Buffer.from(serverFirst))).toString()).toBe(
			'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
		)
		scram.verify(Buffer.from('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='))
	})

	it('writes = and , in a user name as Kafka reads them', () => {
		expect(new ScramClient('sha512', 'a=b,c', 'p', 'n', digest).first().toString()).toBe('n,,n=a=3Db=2Cc,r=n')
	})

	it.each([
		['a foreign nonce', 'r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096', /nonce/],
		['our nonce alone', 'r=mine,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096', /nonce/],
		['too few iterations', 'r=mine1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1', /iterations/],
		['endless iterations', 'r=mine1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=99999999999', /iterations/],
		['something else', 'hello', /no first message/],
	])('refuses %s', async (_what, text, message) => {
		await expect(new ScramClient('sha256', 'u', 'p', 'mine', digest).final(Buffer.from(text))).rejects.toThrow(message)
	})

	it('takes no broker that cannot show that it knows the password', async () => {
		const scram = new ScramClient('sha256', 'u', 'p', 'mine', digest)
		await scram.final(Buffer.from('r=mine1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096'))
		expect(() => scram.verify(Buffer.from('v=AAAA'))).toThrow(/not the real one/)
		expect(() => scram.verify(Buffer.from('e=invalid-proof'))).toThrow(/invalid-proof/)
	})
})
