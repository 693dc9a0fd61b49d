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

  /** Sets the state of a part: undefined if all is well. A change from well to not well, and back, is logged. */
  function set(part: string, message: string | undefined): void {
    const wasWell = !messages.has(part)
    if (message !== undefined) messages.set(part, message)
    else messages.delete(part)
    if (wasWell && message !== undefined) log.warn({ part }, message)
    if (!wasWell && message === undefined) log.info({ part }, `${part} works again`)
  }

  return {
    set,
    /** Of a part with several troubles at once. @returns adds one, and gives what ends it */
    several(part: string): (message: string) => () => void {
      const troubles = new Set<string>()
      const tell = () => set(part, troubles.size > 0 ? [...troubles].join(' ') : undefined)
      return (message) => {
        troubles.add(message)
        tell()
        return () => {
          troubles.delete(message)
          tell()
        }
      }
    },
    list: (): Degradation[] => [...messages].map(([part, message]) => ({ part, message }))
  }
}
