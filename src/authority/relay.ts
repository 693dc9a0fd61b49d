// A relay's side: asks the authority of the tree to carry out what this process's clients ask for.
import { connect } from 'node:net'
import type { LockList } from '../../schemas/locks.ts'
import { OperationError } from '../errors.ts'
import type { OperationResult } from '../operations/context.ts'
import { withResolvers } from '../with-resolvers.ts'
import { openChannel } from './channel.ts'
import type { EngineLink } from './engine-link.ts'
import type { AuthorityMessage, EngineSettings, Hello, RelayMessage, RelayRequest } from './messages.ts'

export interface Relay extends EngineLink {
  /** Of the authority. */
  readonly pid: number
  readonly settings: EngineSettings
  /** Resolves when the authority has gone. Calls that it had not answered have failed with AUTHORITY_LOST by then. */
  readonly closed: Promise<void>
  readonly isLeaving: () => boolean
  /** Says anew who this process is. */
  readonly introduce: (hello: Hello) => void
  readonly close: () => void
}

interface Pending {
  readonly resolve: (result: never) => void
  readonly reject: (error: OperationError) => void
  readonly progress: ((message: string) => void) | undefined
}

type Question = RelayRequest extends infer Request ? (Request extends unknown ? Omit<Request, 'id'> : never) : never

/** The authority answers, and refuses: what it says is for whoever started this process. */
export class RefusedByAuthority extends Error {}

/**
 * Connects at the first of these paths where somebody answers.
 * @param signal ends the attempt
 * @throws RefusedByAuthority; any other error means that nobody is there, or not any more
 */
export async function connectFirst(
  [path = '', ...others]: readonly string[],
  hello: Hello,
  signal: AbortSignal
): Promise<Relay> {
  try {
    return await connectRelay(path, hello, signal)
  } catch (error) {
    if (error instanceof RefusedByAuthority || others.length === 0) throw error
    return connectFirst(others, hello, signal)
  }
}

async function connectRelay(path: string, hello: Hello, signal: AbortSignal): Promise<Relay> {
  const socket = connect(path)
  const pending = new Map<number, Pending>()
  let lastId = 0
  let isLeaving = false
  let isClosed = false
  const { promise: closed, resolve: markClosed } = withResolvers<void>()
  const welcome = withResolvers<{ pid: number; settings: EngineSettings }>()
  const abandon = () => socket.destroy()
  signal.addEventListener('abort', abandon, { once: true })
  socket.on('error', welcome.reject)
  const channel = openChannel<RelayMessage>(socket, { onMessage: receive, onClose: onClosed })
  channel.send(hello)

  function receive(message: AuthorityMessage): void {
    switch (message.type) {
      case 'welcome':
        return welcome.resolve(message)
      case 'refused':
        return welcome.reject(new RefusedByAuthority(message.message))
      case 'leaving':
        isLeaving = true
        return channel.send({ type: 'left' })
      case 'progress':
        return pending.get(message.id)?.progress?.(message.message)
      case 'result':
        return settle(message.id)?.resolve(message.result as never)
      case 'error':
        return settle(message.id)?.reject(OperationError.fromWire(message.error))
      default:
        return message satisfies never
    }
  }

  function settle(id: number): Pending | undefined {
    const call = pending.get(id)
    pending.delete(id)
    return call
  }

  function onClosed(): void {
    isClosed = true
    welcome.reject(new Error('the authority has gone'))
    for (const { reject } of pending.values()) reject(authorityLost())
    pending.clear()
    markClosed()
  }

  function ask<Result>(
    question: Question,
    progress?: (message: string) => void
  ): { id: number; answer: Promise<Result> } {
    lastId += 1
    const id = lastId
    const answer = new Promise<Result>((resolve, reject) => {
      if (isClosed) return reject(authorityLost())
      pending.set(id, { resolve, reject, progress })
      return channel.send({ ...question, id })
    })
    return { id, answer }
  }

  try {
    const { pid, settings } = await welcome.promise
    return {
      pid,
      settings,
      closed,
      isLeaving: () => isLeaving,
      introduce: channel.send,
      close: channel.close,
      async call(name, input, { caller, signal, progress }) {
        if (signal.aborted) throw new OperationError('CANCELLED', reasonOf(signal))
        const question = { type: 'call', name, input, caller, progress: progress !== undefined } as const
        const { id, answer } = ask<OperationResult>(question, progress)
        // The authority answers all the same: what it did before the cancel reached it is done.
        const cancel = () => channel.send({ type: 'cancel', id, message: reasonOf(signal) })
        signal.addEventListener('abort', cancel, { once: true })
        return answer.finally(() => signal.removeEventListener('abort', cancel))
      },
      disconnect: (connection) => channel.send({ type: 'disconnect', connection }),
      holdsLeases: (connection) => ask<boolean>({ type: 'holds_leases', connection }).answer,
      listLocks: (limit) => ask<LockList>({ type: 'list_locks', limit }).answer
    }
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', abandon)
  }
}

export function authorityLost(): OperationError {
  return new OperationError(
    'AUTHORITY_LOST',
    'The process that carried out this call ended before it answered; another one has taken over. Whether a change was made is not known: read the file, then try again. Leases that were held are gone.'
  )
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : 'The call was cancelled; nothing was changed.'
}
