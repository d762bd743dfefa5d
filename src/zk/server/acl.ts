/** Access control of the server: identities of a connection, ACLs of a node, as ZooKeeper's schemes define them. Pure. */

import { type AclRecord, ERR } from '../messages.js'
import { sha1 } from './sha1.js'

export const PERM = { read: 1, write: 2, create: 4, delete: 8, admin: 16 } as const

/** Who a connection is: always its address (`ip`), plus what it proved. */
export interface Identity {
	readonly scheme: string
	readonly id: string
}

/** The identity that digest credentials `user:password` prove. */
export function digestIdentity(credentials: Buffer): Identity {
	const text = credentials.toString('utf8')
	const user = text.split(':', 1)[0] ?? ''
	return { scheme: 'digest', id: `${user}:${sha1(credentials).toString('base64')}` }
}

function ipv4(text: string): number | null {
	const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
	if (parts === null) return null
	let value = 0
	for (const part of parts.slice(1)) {
		if (Number(part) > 255) return null
		value = value * 256 + Number(part)
	}
	return value
}

/** `address` or `address/bits`. IPv6 networks are compared by whole address only. */
function isIpAcl(id: string): boolean {
	const [address, bits, more] = id.split('/')
	if (address === undefined || more !== undefined) return false
	if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return false
	return ipv4(address) !== null ? Number(bits ?? 32) <= 32 : /^[0-9a-f:]+$/i.test(address) && address.includes(':')
}

function matchesIp(pattern: string, address: string): boolean {
	const [network, bits] = pattern.split('/')
	const wanted = ipv4(network ?? '')
	const actual = ipv4(address)
	if (wanted === null || actual === null) return network === address
	const shift = 2 ** (32 - Number(bits ?? 32))
	return Math.floor(wanted / shift) === Math.floor(actual / shift)
}

function matches(entry: AclRecord, identity: Identity): boolean {
	if (entry.id.scheme !== identity.scheme) return false
	return identity.scheme === 'ip' ? matchesIp(entry.id.id, identity.id) : entry.id.id === identity.id
}

/** Whether one of `identities` has any of the bits in `perm`. */
export function isAllowed(acl: readonly AclRecord[], perm: number, identities: readonly Identity[]): boolean {
	for (const entry of acl) {
		if ((entry.perms & perm) === 0) continue
		if (entry.id.scheme === 'world' && entry.id.id === 'anyone') return true
		if (identities.some((identity) => matches(entry, identity))) return true
	}
	return false
}

/**
 * The list as it is stored: `auth` expanded to the connection's proven identities, duplicates removed. The number
 * {@link ERR.invalidAcl} when it is empty or an entry is not valid.
 */
export function resolveAcl(
	acl: readonly AclRecord[],
	identities: readonly Identity[],
): readonly AclRecord[] | typeof ERR.invalidAcl {
	const resolved: AclRecord[] = []
	const add = (entry: AclRecord): void => {
		const same = (other: AclRecord): boolean =>
			other.perms === entry.perms && other.id.scheme === entry.id.scheme && other.id.id === entry.id.id
		if (!resolved.some(same)) resolved.push(entry)
	}
	for (const entry of acl) {
		const { scheme, id } = entry.id
		if (scheme === 'auth') {
			const proven = identities.filter((identity) => identity.scheme === 'digest')
			if (proven.length === 0) return ERR.invalidAcl
			for (const identity of proven) add({ perms: entry.perms, id: identity })
		} else if (
			(scheme === 'world' && id === 'anyone') ||
			(scheme === 'digest' && id.split(':').length === 2) ||
			(scheme === 'ip' && isIpAcl(id))
		) {
			add(entry)
		} else return ERR.invalidAcl
	}
	return resolved.length === 0 ? ERR.invalidAcl : resolved
}

/** What a caller without admin rights sees: digests are hidden. */
export function maskAcl(acl: readonly AclRecord[]): AclRecord[] {
	return acl.map((entry) =>
		entry.id.scheme === 'digest'
			? { perms: entry.perms, id: { scheme: 'digest', id: `${entry.id.id.split(':', 1)[0]}:x` } }
			: entry,
	)
}
