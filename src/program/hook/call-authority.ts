// Calls an operation through the socket of a tree, which only the tree's own user can reach. Loads as little of Node as possible.
import { connectToTree } from '../../tree/coordinator/local-link.ts'
import { readLines } from '../../support/read-lines.ts'
import { maxAnswerBytes as defaultBytes } from './post-json.ts'

export interface AuthorityCall {
  /** Of the operation. */
  readonly name: string
  readonly input: object
  readonly signal: AbortSignal
  /** The call waits for a lock: at most for so many seconds. */
  readonly onWait?: (seconds: number) => void
  /** Default: that of an answer over HTTP. */
  readonly maxAnswerBytes?: number
}

interface Reply {
  readonly type?: string
  readonly waitSeconds?: number
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message?: string }
}

/**
 * @param root real path of the first root
 * @throws Error that says why there is no answer
 */
export async function callAuthority(
  root: string,
  { name, input, signal, onWait, maxAnswerBytes = defaultBytes }: AuthorityCall
): Promise<Readonly<Record<string, unknown>>> {
  const socket = await connectToTree(root, signal)
  try {
    const caller = { transport: 'internal', takesNotices: false }
    socket.write(`${JSON.stringify({ type: 'call', id: 1, name, input, caller, progress: true })}\n`)
    for await (const line of readLines(socket, maxAnswerBytes)) {
      const { type, waitSeconds: granted = 0, result, error } = JSON.parse(line?.toString('utf8') ?? '{}') as Reply
      if (type === 'progress') onWait?.(granted)
      if (error !== undefined) throw new Error(`the server answered: ${error.message ?? ''}`)
      if (result !== undefined) return result
    }
    throw new Error('the server of the tree has gone')
  } finally {
    socket.destroy()
  }
}
