/** A certificate authority, a server's and a client's certificate for one test, made by openssl. */

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificates {
	/** PEM files. */
	readonly ca: string
	/** Key and certificate together, as Java's PEM keystore wants them; valid for `localhost` and no other name. */
	readonly serverStore: string
	readonly clientCert: string
	/** Encrypted with {@link clientPassword}. */
	readonly clientKey: string
	readonly clientPassword: string
	/** Key and certificate as PKCS12, same password. */
	readonly clientPkcs12: string
}

export function makeCertificates(folder: string): Certificates {
	const at = (name: string): string => join(folder, name)
	const openssl = (...args: string[]): void => {
		const done = spawnSync('openssl', args, { encoding: 'utf8' })
		if (done.status !== 0) throw new Error(`openssl ${args.join(' ')}\n${done.stderr}`)
	}
	const password = 'key-secret'
	const newKey = ['-newkey', 'rsa:2048', '-nodes']
	openssl(
		'req',
		'-x509',
		...newKey,
		'-keyout',
		at('ca.key'),
		'-out',
		at('ca.pem'),
		'-days',
		'2',
		'-subj',
		'/CN=kcli test CA',
	)
	const signed = (name: string, extensions: string): void => {
		writeFileSync(at(`${name}.ext`), extensions)
		openssl('req', '-new', ...newKey, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`), '-subj', `/CN=${name}`)
		const by = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial']
		openssl(
			'x509',
			'-req',
			'-in',
			at(`${name}.csr`),
			...by,
			'-days',
			'2',
			'-out',
			at(`${name}.pem`),
			'-extfile',
			at(`${name}.ext`),
		)
	}
	signed('server', 'subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n')
	signed('client', 'extendedKeyUsage=clientAuth\n')
	writeFileSync(at('server-store.pem'), readFileSync(at('server.key'), 'utf8') + readFileSync(at('server.pem'), 'utf8'))
	openssl(
		'pkcs8',
		'-topk8',
		'-in',
		at('client.key'),
		'-out',
		at('client-encrypted.key'),
		'-passout',
		`pass:${password}`,
	)
	const pair = ['-inkey', at('client.key'), '-in', at('client.pem'), '-certfile', at('ca.pem')]
	openssl('pkcs12', '-export', ...pair, '-out', at('client.p12'), '-passout', `pass:${password}`)
	return {
		ca: at('ca.pem'),
		serverStore: at('server-store.pem'),
		clientCert: at('client.pem'),
		clientKey: at('client-encrypted.key'),
		clientPassword: password,
		clientPkcs12: at('client.p12'),
	}
}
