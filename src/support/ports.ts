// The ports to try, in order, if none was asked for explicitly (PRD 11.3).
import { createHash } from 'node:crypto'
import { userInfo } from 'node:os'

const firstPort = 8720
const count = 100
const highestPort = 65535

/**
 * The preferred port first, then those above it: within 8720-8819 up to its end, elsewhere 99 more. null stands for the port of
 * the user; from there the whole range is tried, with wrap-around.
 */
export function candidatePorts(preferred: number | null): number[] {
  if (preferred === null) {
    const offset = portOfUser(userInfo().username) - firstPort
    return Array.from({ length: count }, (_, index) => firstPort + ((offset + index) % count))
  }
  const isOurs = preferred >= firstPort && preferred < firstPort + count
  const last = isOurs ? firstPort + count - 1 : Math.min(preferred + count - 1, highestPort)
  return Array.from({ length: last - preferred + 1 }, (_, index) => preferred + index)
}

/** Depends only on the name, so that users of one machine mostly get ports of their own. */
export function portOfUser(name: string): number {
  const hash = createHash('sha256').update(name.toLowerCase()).digest()
  return firstPort + (hash.readUInt16BE(0) % count)
}
