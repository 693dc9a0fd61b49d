// Loaded before a test file. To tell in which test an error was thrown, tap follows every promise of the process, those of the
// server among them, which makes each twice as dear. Without it an error that no test catches ends the file, and is shown all the same.
const hooks = require('node:async_hooks')
const { syncBuiltinESMExports } = require('node:module')

const idle = { enable: () => idle, disable: () => idle }
hooks.createHook = () => idle
syncBuiltinESMExports()
