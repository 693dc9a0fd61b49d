// How long a call waits for a process that serves the tree, and what it is told if there is none.
import { cancellationOf, OperationError } from '../../errors.ts'
import type { Coordinator } from '../coordinator/coordinator.ts'

interface Patience {
  readonly limitMs: number
  readonly onLimit: () => Error
  /** Ends the wait, and not what is waited for. */
  readonly signal?: AbortSignal | undefined
}

export function withinTime<Result>(awaited: Promise<Result>, { limitMs, onLimit, signal }: Patience): Promise<Result> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(onLimit()), limitMs)
    const onAbort = () => signal !== undefined && reject(cancellationOf(signal))
    if (signal?.aborted === true) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    awaited.then(resolve, reject).finally(() => {
      clearTimeout(limit)
      signal?.removeEventListener('abort', onAbort)
    })
  })
}

/** For a process that has the tree at another path than the authority that it relayed to. */
export function noAuthorityAt(path: string): OperationError {
  return new OperationError(
    'OVERLOADED',
    `No process serves this tree as ${path} any more, and this one has it at another path, so it does not take over: it could not continue the leases. Nothing was done. Start the server of ${path} again, and this process goes on by itself; or start this one anew.`,
    { details: { retry_after_seconds: 1 } }
  )
}

/** @param pid of the process that has the lock; undefined if it is not known */
export function noAuthority({ leader, leaderHint, isLeased }: Coordinator, pid = leader()): OperationError {
  if (isLeased && pid === undefined)
    return new OperationError(
      'OVERLOADED',
      'No host is known that serves this tree, and this one was not elected in time: its volume or etcd does not answer. Nothing was done. Try again.',
      { details: { retry_after_seconds: 1 } }
    )
  const who = pid === undefined ? 'The process' : `Process ${pid}`
  const find = pid === undefined ? leaderHint : ''
  return new OperationError(
    'OVERLOADED',
    `${who}, which has the lock of this tree, does not answer. Nothing was done. Try again; if that does not help, stop that process${find}: another one takes over.`,
    { details: { retry_after_seconds: 1, ...(pid !== undefined && { authority_pid: pid }) } }
  )
}
