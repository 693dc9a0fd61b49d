// The uptime of this process, the same in every answer and file of the server.
import { timestamp } from './timestamp.ts'

export const startedAt = timestamp(performance.timeOrigin)

/** To a tenth of a second, by a clock that cannot be set. */
export function uptimeSeconds(): number {
  return Math.floor(performance.now() / 100) / 10
}
