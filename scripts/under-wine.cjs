// Loaded into Node for Windows under Wine, for what Wine does in another way than Windows.
const { ChildProcess } = require('node:child_process')
const { appendFileSync } = require('node:fs')
const { Socket } = require('node:net')

// Sockets take no option of keep-alive before they are connected; fetch sets one then.
const { setKeepAlive } = Socket.prototype
Socket.prototype.setKeepAlive = function (...args) {
  if (this.connecting) return this.once('connect', () => setKeepAlive.apply(this, args))
  return setKeepAlive.apply(this, args)
}

// A hidden console has no title, and without one Node before 22.17 does not start (nodejs/node issue 58695).
const { spawn } = ChildProcess.prototype
const faults = process.env.TEST_WINE_FAULTS
ChildProcess.prototype.spawn = function (options) {
  try {
    return spawn.call(this, { ...options, windowsHide: false })
  } catch (error) {
    // On a busy machine Wine now and then starts no program, with an error that Node has no name for.
    if (error.code === 'UNKNOWN' && faults) appendFileSync(faults, `${error.message}\n`)
    throw error
  }
}
