// Since when this process runs, as every answer and file of the server says it.

export const startedAt = new Date(performance.timeOrigin).toISOString()

/** To a tenth, and by a clock that cannot be set. */
export function uptimeSeconds(): number {
  return Math.floor(performance.now() / 100) / 10
}
