// What keeps this process from serving the tree: told in the log, in /health, and to callers.
import type { Logger } from '../../support/logger.ts'
import { explainWalkError } from '../../engine/files/walk-error.ts'
import { OperationError } from '../../errors.ts'
import { messageOf } from '../../support/error-message.ts'

interface ObstacleOptions {
  /** Reports the condition of a part: undefined if all is well. */
  readonly degrade: (part: string, message: string | undefined) => void
  readonly log: Logger
}

/** @param roots real paths */
export function createObstacle(roots: readonly [string, ...string[]], { degrade, log }: ObstacleOptions) {
  const [root] = roots
  let last: string | undefined

  /** Why this process cannot serve the tree now, as the error of an operation. */
  function explain(error: unknown): OperationError {
    if (error instanceof OperationError) return error
    // This process may no longer enter a root. One that is gone has been explained where that was found.
    const cause = error instanceof Error ? (error.cause ?? error) : error
    const isOfRoot = cause instanceof Error && 'path' in cause && roots.some((each) => each === cause.path)
    const explained = explainWalkError(cause, isOfRoot ? String(cause.path) : root)
    if (explained instanceof OperationError) return explained
    const message = `This process cannot help to serve ${root}: ${messageOf(error)}. Nothing was done.`
    return new OperationError('SERVER_ERROR', message, { cause: error })
  }

  return {
    explain,
    /** Logs it once, and not at every look. */
    report(error: unknown): void {
      const trouble = messageOf(error)
      if (trouble !== last) log.error({ err: error }, `this process cannot serve the tree: ${trouble}`)
      last = trouble
      degrade('tree', explain(error).message)
    },
    end(): void {
      last = undefined
      degrade('tree', undefined)
    }
  }
}
