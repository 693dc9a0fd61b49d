// What keeps this process from serving the tree: told in the log, in /health, and to callers.
import type { Logger } from '../../engine/context.ts'
import { explainRootError } from '../../engine/files/walk-error.ts'
import { OperationError } from '../../errors.ts'
import { messageOf } from '../../support/error-message.ts'

interface ObstacleOptions {
  /** Reports the condition of a part: undefined if all is well. */
  readonly degrade: (part: string, message: string | undefined) => void
  readonly log: Logger
}

/** @param root the first one */
export function createObstacle(root: string, { degrade, log }: ObstacleOptions) {
  let last: string | undefined

  /** Why this process cannot serve the tree now, as the error of an operation. */
  function explain(error: unknown): OperationError {
    if (error instanceof OperationError) return error
    // The root has gone, or this process may no longer enter it.
    const explained = error instanceof Error ? explainRootError(error.cause ?? error, root) : error
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
