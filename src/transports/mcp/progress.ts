// Progress notifications of one call.
import type { ProgressNotification } from '@modelcontextprotocol/server'
import type { Progress, Report } from '../../support/progress.ts'

/** The protocol wants numbers that grow, also where nothing but a place in a queue changes. */
export function createProgress(
  progressToken: string | number,
  send: (notification: ProgressNotification) => void
): Report {
  let last: number | undefined
  /** What waits had counted before the work began. */
  let before: number | undefined
  let total: number | undefined
  return ({ message, done, total: steps }: Progress) => {
    if (done !== undefined) {
      before ??= last ?? 0
      total = steps === undefined ? total : before + steps
    }
    const progress = done === undefined ? afterWait(last ?? 0, total) : (before ?? 0) + done
    if (last !== undefined && progress <= last) return
    last = progress
    const params = { progressToken, progress, ...(total !== undefined && { total }), message }
    send({ method: 'notifications/progress', params })
  }
}

/** A wait within a step comes nearer to its end, and never there. */
function afterWait(last: number, total: number | undefined): number {
  return total === undefined ? last + 1 : (last + Math.floor(last) + 1) / 2
}
