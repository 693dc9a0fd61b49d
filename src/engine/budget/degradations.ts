// What does not work while the service goes on without it, for /health and the log.
import type { Logger } from '../../support/logger.ts'

export interface Degradation {
  /** Such as `watcher`. */
  readonly part: string
  /** What is missing, what that means, and what to do. */
  readonly message: string
}

export type Degradations = ReturnType<typeof createDegradations>

export function createDegradations(log: Logger) {
  const messages = new Map<string, string>()

  return {
    /** Sets the state of a part: undefined if all is well. A change from well to not well, and back, is logged. */
    set(part: string, message: string | undefined): void {
      const wasWell = !messages.has(part)
      if (message !== undefined) messages.set(part, message)
      else messages.delete(part)
      if (wasWell && message !== undefined) log.warn({ part }, message)
      if (!wasWell && message === undefined) log.info({ part }, `${part} works again`)
    },
    list: (): Degradation[] => [...messages].map(([part, message]) => ({ part, message }))
  }
}
