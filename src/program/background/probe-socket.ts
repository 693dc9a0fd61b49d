// Asks the process that serves a tree for a sign of life, over the socket of its relays: it may listen nowhere else.
import { connect } from 'node:net'
import { readLines } from '../../support/read-lines.ts'
import { openAddress } from '../../tree/coordinator/address.ts'
import { createStateDirectory } from '../../tree/state/state-directory.ts'

/** Less than a check of doctor may take. */
const timeoutMs = 3000
const maxAnswerBytes = 1000

/** @param root of the tree, a real path. @returns false if no sign comes in time */
export async function isAnsweringAtSocket(root: string): Promise<boolean> {
  const address = openAddress(root, createStateDirectory(root))
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const answers = await Promise.all(address.paths.map((path) => ping(path, signal).catch(() => false)))
    return answers.includes(true)
  } finally {
    address.close()
  }
}

async function ping(path: string, signal: AbortSignal): Promise<boolean> {
  const socket = connect({ path, signal })
  try {
    socket.write(`${JSON.stringify({ type: 'ping' })}\n`)
    for await (const _line of readLines(socket, maxAnswerBytes)) return true
    return false
  } finally {
    socket.destroy()
  }
}
