// How long a call waits in a queue.
import type { OperationContext } from '../../engine/call/context.ts'

/** What is left of the requested time, within the server's maximum and what the client survives. @param asked seconds; undefined takes crud.default_timeout. @returns `inAll` with what earlier processes have waited of it */
export function waitSeconds(
  { config, caller }: Pick<OperationContext, 'config' | 'caller'>,
  asked: number | undefined
): { seconds: number; inAll: number; isCut: boolean } {
  const allowed = Math.min(asked ?? config.crud.default_timeout, config.crud.max_timeout)
  const inAll = Math.min(allowed, caller.maxWaitSeconds ?? allowed)
  return { seconds: Math.max(0, inAll - (caller.waitedMs ?? 0) / 1000), inAll, isCut: inAll < allowed }
}

export function explainCut(seconds: number): string {
  return `The wait was cut short at ${seconds} s because clients give up at 60 s; ask for progress (a progress token) to wait longer.`
}
