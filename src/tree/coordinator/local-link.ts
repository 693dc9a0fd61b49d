// Connects to the process that serves a tree on this host. Before any message passes, each end proves that it runs for this user: the name
// of a pipe of Windows can be taken by every user of the machine.
import type { Socket } from 'node:net'
import { messageOf } from '../../support/error-message.ts'
import { createStateDirectory } from '../state/state-directory.ts'
import { openAddress, type Place } from './address.ts'
import { greet, withinTime } from './greeting.ts'

/** What listens has not proved that it serves this tree for this user, so it gets no message. While processes come and go this may last a moment. */
export class Unproven extends Error {}

/** Ends a connection whose other end does not prove itself, in milliseconds. A stopped process may go on, and a busy one takes its time. */
export const greetingMs = 30_000

/** @throws Unproven; any other Error means that no process listens there */
export async function connectTo({ path, shownPath, readSecret }: Place, signal: AbortSignal): Promise<Socket> {
  // Loaded by hooks, too, which start around every tool call.
  const { connect } = await import('node:net')
  const socket = connect({ path, signal })
  await withinTime(socket, greetingMs, new Promise((resolve) => socket.once('connect', resolve)))
  try {
    // The process that listens has left its secret before: what is read now is not that of an earlier one.
    await withinTime(socket, greetingMs, greet(socket, 'relay', { secret: readSecret(), tree: '' }))
    return socket
  } catch (error) {
    socket.destroy()
    if (signal.aborted) throw error
    throw new Unproven(
      `what listens at ${shownPath} does not prove that it serves this tree for this user (${messageOf(error)}), so it gets no message: it is an async-crud-mcp of an older version, one of another user, or another program. Stop it (async-crud-mcp daemon stop), and start the server again`,
      { cause: error }
    )
  }
}

/**
 * @param root real path of the first root
 * @throws Unproven; any other Error says that no process listens there
 */
export async function connectToTree(root: string, signal: AbortSignal): Promise<Socket> {
  const address = openAddress(root, createStateDirectory(root))
  try {
    let failure: unknown
    for (const place of address.places) {
      try {
        return await connectTo(place, signal)
      } catch (error) {
        failure ??= error
        if (error instanceof Unproven) throw error
      }
    }
    throw failure
  } finally {
    address.close()
  }
}
