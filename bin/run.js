#!/usr/bin/env node
// The launcher: checks Node's version in syntax that old ones read, and sets what must be set before Node's thread pool
// starts. CommonJS on purpose (see package.json beside it): in an ESM entry the pool's size comes too late.
'use strict'

var version = process.versions.node.split('.').map(Number)
if (version[0] < 20 || (version[0] === 20 && version[1] < 12)) {
	process.stderr.write('kcli needs Node 20.12 or newer; this is Node ' + process.versions.node + '\n')
	process.exit(2)
}
if (process.env.UV_THREADPOOL_SIZE === undefined) process.env.UV_THREADPOOL_SIZE = '8'

import('../dist/cli/main.js').then(
	(main) => main.run(process.argv.slice(2)),
	(error) => {
		if (error && error.code === 'ERR_MODULE_NOT_FOUND' && String(error.message).indexOf('dist') >= 0) {
			process.stderr.write('kcli is not built yet: run "npm run build" in its folder\n')
			process.exit(1)
		}
		throw error
	},
)
