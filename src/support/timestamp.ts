/** The contract's form of times: ISO 8601 in UTC. @param ms since the epoch; now by default */
export function timestamp(ms: number = Date.now()): string {
  return new Date(ms).toISOString()
}
