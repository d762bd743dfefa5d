/** Names of the files in a data directory: `log.<first zxid>` and `snapshot.<zxid>`, 16 hex digits, so that byte order is age. */

export const logName = (zxid: number): string => `log.${zxid.toString(16).padStart(16, '0')}`
export const snapshotName = (zxid: number): string => `snapshot.${zxid.toString(16).padStart(16, '0')}`

/** Zxid in a file's name; null for other names. */
export function zxidOf(name: string, prefix: 'log' | 'snapshot'): number | null {
	const digits = new RegExp(`^${prefix}\\.([0-9a-f]{16})$`).exec(name)
	return digits === null ? null : Number.parseInt(digits[1] as string, 16)
}
