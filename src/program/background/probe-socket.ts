// Asks the process that serves a tree for a sign of life, over the socket of its relays: it may listen nowhere else.
import { readLines } from '../../support/read-lines.ts'
import { connectToTree } from '../../tree/coordinator/local-link.ts'

/** Less than a check of doctor may take. */
const timeoutMs = 3000
const maxAnswerBytes = 1000

/** @param root of the tree, a real path. @returns false if no sign comes in time */
export async function isAnsweringAtSocket(root: string): Promise<boolean> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const socket = await connectToTree(root, signal)
    try {
      socket.write(`${JSON.stringify({ type: 'ping' })}\n`)
      for await (const _line of readLines(socket, maxAnswerBytes)) return true
      return false
    } finally {
      socket.destroy()
    }
  } catch {
    return false
  }
}
