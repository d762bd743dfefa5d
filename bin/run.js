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

if (process.argv[2] === '--version' || process.argv[2] === '-V') {
	process.stdout.write(
		'kcli/' +
			require('../package.json').version +
			' ' +
			process.platform +
			'-' +
			process.arch +
			' node-' +
			process.version +
			'\n',
	)
	process.exit(0)
}

// Node 22 keeps compiled code between runs.
var nodeModule = require('node:module')
if (nodeModule.enableCompileCache) nodeModule.enableCompileCache()

try {
	require('../dist/cli/kcli.cjs').start(process.argv.slice(2))
} catch (error) {
	if (error && error.code === 'MODULE_NOT_FOUND' && String(error.message).indexOf('kcli.cjs') >= 0) {
		process.stderr.write('kcli is not built yet: run "npm run build" in its folder\n')
		process.exit(1)
	}
	throw error
}
