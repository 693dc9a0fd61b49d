// What does not work while the service goes on without it, for /health and the log.
import type { Logger } from '../../support/logger.ts'
import { timestamp } from '../../support/timestamp.ts'

export interface Degradation {
  /** Such as `watcher`. */
  readonly part: string
  /** What is missing, what that means, and what to do. */
  readonly message: string
  /** When it began. */
  readonly since: string
}

export type Degradations = ReturnType<typeof createDegradations>

export function createDegradations(log: Logger) {
  const troubled = new Map<string, Omit<Degradation, 'part'>>()

  /** Sets the state of a part: undefined if all is well. A change from well to not well, and back, is logged. */
  function set(part: string, message: string | undefined): void {
    const wasWell = !troubled.has(part)
    if (message !== undefined) troubled.set(part, { message, since: troubled.get(part)?.since ?? timestamp() })
    else troubled.delete(part)
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
    list: (): Degradation[] => [...troubled].map(([part, trouble]) => ({ part, ...trouble }))
  }
}
