// Loaded before a test file.
const hooks = require('node:async_hooks')
const { syncBuiltinESMExports } = require('node:module')
const { join } = require('node:path')

// What was compiled of the packages and modules under test is kept for the next file.
const suites = join(__dirname, '..', 'dist', 'suites')
require(join(suites, 'compile-cache.cjs')).keepCompiled(suites)

// Node 22 makes this class when it is first asked for, by the createHook that is there then: by the real one.
void hooks.AsyncLocalStorage

// To tell in which test an error was thrown, tap follows every promise of the process, those of the server among them, which makes
// each twice as dear. Without it an error that no test catches ends the file, and is shown all the same.
const idle = { enable: () => idle, disable: () => idle }
hooks.createHook = () => idle
syncBuiltinESMExports()
