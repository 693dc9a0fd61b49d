// Where relays meet the authority of their tree: a socket of this user on one host, or a port that other hosts reach.
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Address } from './address.ts'
import { greet, withinTime } from './greeting.ts'
import { connectTo, greetingMs } from './local-link.ts'

/** The socket may not be open yet, or fail to open. @param signal ends the attempt */
export type Connect = (signal: AbortSignal) => Socket | Promise<Socket>

export interface MeetingPoint {
  /** How to connect, until `close`: the authority of the tree listens at one of them. */
  readonly targets: readonly Connect[]
  /** Listens where relays look for the authority. @throws Error that says what is in the way */
  readonly serve: (accept: (socket: Socket) => void) => Promise<Server>
  /** False if other processes no longer find what is served here. */
  readonly isInPlace: () => boolean
  readonly close: () => void
}

export function meetAt(address: Address): MeetingPoint {
  return {
    targets: address.places.map((place) => (signal) => connectTo(place, signal)),
    async serve(accept) {
      let server = createServer()
      await address.bind(async (path, secret) => {
        // The place before it may have been found unfit after all, as one whose mode cannot be changed.
        if (server.listening) server.close()
        server = createServer((socket) => void admit(socket, secret, accept))
        server.listen(path)
        await once(server, 'listening')
      })
      return server
    },
    isInPlace: () => address.isInPlace(),
    close: () => address.close()
  }
}

async function admit(socket: Socket, secret: string, accept: (socket: Socket) => void): Promise<void> {
  // A stranger's connection must not keep a process running that ends.
  socket.unref()
  try {
    await withinTime(socket, greetingMs, greet(socket, 'authority', { secret, tree: '' }))
  } catch {
    return
  }
  accept(socket.ref())
}
