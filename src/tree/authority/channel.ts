// Messages over a socket, as lines of JSON. Both ends are processes of one user on one tree.
import type { Socket } from 'node:net'
import { encodeInPieces, isLarge } from '../../support/encode-large.ts'
import { parseInPieces } from '../../support/parse-large.ts'
import { largeBytes } from '../../support/large-work.ts'
import { readLines } from '../../support/read-lines.ts'

export interface Channel<Sent extends object> {
  /** Does nothing once the socket has closed. @throws RangeError for a message that is too long for a text */
  readonly send: (message: Sent) => void
  /**
   * The same for a message with the input or the result of an operation: if that is large, others are served between its pieces.
   * @returns a promise in that case: false if the caller has changed its mind
   */
  readonly sendBody: (message: Sent, body: unknown, isWanted?: () => boolean) => Promise<boolean> | undefined
  /** Bytes sent that have not left this process yet. */
  readonly unread: () => number
  /** Sends what is queued first. */
  readonly close: () => void
  /** Closes at once, whatever is in progress. */
  readonly destroy: () => void
}

/** A process that leaves this much unread has stopped reading. The channel ends as if that process had died, before memory runs out. */
const maxUnreadBytes = 268_435_456

/**
 * @param onMessage given what the other side's `send` was given, which is not checked, and its length in bytes
 * @param onClose called once, after the last message, however the socket ended
 */
export function openChannel<Sent extends object>(
  socket: Socket,
  { onMessage, onClose }: { onMessage: (message: never, bytes: number) => void; onClose: () => void }
): Channel<Sent> {
  async function read(): Promise<void> {
    for await (const line of readLines(socket, Number.MAX_SAFE_INTEGER)) {
      // Without a limit no line is left out.
      const bytes = line as Buffer
      const isLarge = bytes.length > largeBytes
      onMessage((isLarge ? await parseInPieces(bytes) : JSON.parse(bytes.toString('utf8'))) as never, bytes.length)
    }
  }

  socket.on('error', () => {})
  // A failure is an end like any other: the process on the other side has died, or is not one of ours.
  read()
    .catch(() => {})
    .finally(() => {
      socket.destroy()
      onClose()
    })
  function write(pieces: readonly (string | Buffer)[]): void {
    for (const piece of pieces) if (socket.writable) socket.write(piece)
    if (socket.writableLength > maxUnreadBytes) socket.destroy()
  }

  const send = (message: Sent) => write([`${JSON.stringify(message)}\n`])

  async function sendInPieces(message: Sent, isWanted: () => boolean): Promise<boolean> {
    const pieces = await encodeInPieces(message)
    if (!isWanted()) return false
    write([...pieces, '\n'])
    return true
  }

  return {
    send,
    sendBody(message, body, isWanted = () => true) {
      if (isLarge(body)) return sendInPieces(message, isWanted)
      send(message)
      return undefined
    },
    unread: () => socket.writableLength,
    close: () => socket.destroySoon(),
    destroy: () => socket.destroy()
  }
}
