// Where relays meet the authority of their tree: a socket of this user on one host, or a port that other hosts reach.
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Address } from './address.ts'
import { greet, nonceBytes, readBytes, withinTime, WrongProof } from './greeting.ts'
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

/** How a process of a version without proofs begins: with a message. */
const olderBeginning = '{"type":"'
const olderRefusal = 'this process is older than the one that serves this tree: update it and start it again'

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
    await withinTime(socket, greetingMs, hear(socket, secret))
  } catch {
    return
  }
  accept(socket.ref())
}

/** @throws Error if the other end does not belong to this user */
async function hear(socket: Socket, secret: string): Promise<void> {
  const beginning = await readBytes(socket, nonceBytes)
  if (beginning.toString('latin1').startsWith(olderBeginning)) await refuseOlder(socket)
  socket.unshift(beginning)
  await greet(socket, 'authority', { secret, tree: '' })
}

/** Older hooks look for `error`, older relays for `message`. They learn nothing of this tree. */
async function refuseOlder(socket: Socket): Promise<never> {
  const error = { code: 'SERVER_ERROR', message: olderRefusal }
  const answer = `${JSON.stringify({ type: 'refused', id: 1, message: olderRefusal, error })}\n`
  await new Promise<void>((resolve) => socket.end(answer, resolve))
  throw new WrongProof(olderRefusal)
}
