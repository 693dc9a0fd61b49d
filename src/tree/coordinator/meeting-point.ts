// Where relays meet the authority of their tree: a socket of this user on one host, or a port that other hosts reach.
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Address } from './address.ts'

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
    targets: address.paths.map((path) => () => connect(path)),
    async serve(accept) {
      let server = createServer(accept)
      await address.bind(async (path) => {
        // The place before it may have been found unfit after all, as one whose mode cannot be changed.
        if (server.listening) {
          server.close()
          server = createServer(accept)
        }
        server.listen(path)
        await once(server, 'listening')
      })
      return server
    },
    isInPlace: () => address.isInPlace(),
    close: () => address.close()
  }
}
