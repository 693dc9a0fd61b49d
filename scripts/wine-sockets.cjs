// Loaded into Node for Windows under Wine, whose sockets take no option of keep-alive before they are connected; fetch sets one then.
const { Socket } = require('node:net')

const { setKeepAlive } = Socket.prototype
Socket.prototype.setKeepAlive = function (...args) {
  if (this.connecting) return this.once('connect', () => setKeepAlive.apply(this, args))
  return setKeepAlive.apply(this, args)
}
