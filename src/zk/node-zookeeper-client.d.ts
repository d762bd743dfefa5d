/** node-zookeeper-client 1.1.3 has no types; `node-driver.ts` casts its parts to the shapes of `node-package.ts`. */

declare module 'node-zookeeper-client/lib/jute/index.js' {
	const jute: unknown
	export default jute
}

declare module 'node-zookeeper-client/lib/ConnectionManager.js' {
	const ConnectionManager: unknown
	export default ConnectionManager
}
