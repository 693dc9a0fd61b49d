// Ends what must not outlive the answer to an HTTP request.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** By connection: Node never closes a response whose turn on its connection does not come. */
const endings = new WeakMap<Socket, Set<() => void>>()

/** Calls `end` once, when the answer has gone out or its connection has closed. */
export function untilAnswered(response: ServerResponse, end: () => void): void {
  const { socket } = response.req
  if (socket.destroyed) return end()
  const ends = endings.get(socket) ?? followClose(socket)
  ends.add(end)
  response.once('close', () => {
    if (ends.delete(end)) end()
  })
}

function followClose(socket: Socket): Set<() => void> {
  const ends = new Set<() => void>()
  endings.set(socket, ends)
  socket.once('close', () => {
    for (const end of ends) end()
    ends.clear()
  })
  return ends
}
