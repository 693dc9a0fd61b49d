// Who blocks whom in a snapshot of the lock table, by the rules as they are documented; a second opinion on the server's own graph.
import type { Entry, LockedFile, Snapshot } from './history.ts'

/** Those who keep the waiter at this place of the file's queue from being granted. */
export function blockersOf({ holders, waiters }: LockedFile, place: number): Entry[] {
  const waiter = waiters[place] as Entry
  const blockers = holders.filter((holder) => conflict(waiter, holder))
  const held = holders.filter(({ isLease }) => isLease)
  for (const [rank, other] of waiters.slice(0, place).entries()) {
    if (!conflict(waiter, other)) continue
    const asked = waiters.slice(0, rank).filter(({ isLease }) => isLease)
    if (!passes(waiter, other, held, asked)) blockers.push(other)
  }
  return blockers
}

export function conflict(one: Entry, other: Entry): boolean {
  if (one.mode === 'shared' && other.mode === 'shared') return false
  if (!one.isLease && !other.isLease) return true
  if (one.agent === other.agent) return false
  if (one.isLease && other.isLease) return true
  return (one.isLease ? other : one).mode === 'exclusive'
}

/**
 * Whoever has a lease, held or asked for further ahead, passes those who ask for one; an operation passes operations that a lease
 * keeps from running, unless that lease is asked for behind one of the operation's own agent, who then passes it.
 */
function passes(waiter: Entry, earlier: Entry, held: readonly Entry[], asked: readonly Entry[]): boolean {
  const isOf =
    ({ agent }: Entry) =>
    (lease: Entry) =>
      lease.agent === agent
  if (waiter.isLease || earlier.isLease) return [...held, ...asked].some(isOf(waiter))
  if (held.some((lease) => conflict(earlier, lease))) return true
  if (held.some(isOf(earlier))) return false
  const own = asked.findIndex(isOf(earlier))
  return asked.slice(0, own === -1 ? asked.length : own).some((lease) => conflict(earlier, lease))
}

/** The agents and operations of a circle, each waiting for the next; undefined where there is none. */
export function findCircle({ files }: Snapshot): string[] | undefined {
  const edges = new Map<string, Set<string>>()
  const point = (from: string, to: string) => edges.set(from, (edges.get(from) ?? new Set<string>()).add(to))
  for (const locked of files) {
    for (const [place, waiter] of locked.waiters.entries()) {
      for (const blocker of blockersOf(locked, place)) {
        point(waiter.agent, nameOf(blocker, locked))
        if (!waiter.isLease) point(nameOf(waiter, locked), nameOf(blocker, locked))
      }
    }
  }
  const done = new Set<string>()
  for (const start of edges.keys()) {
    const circle = walk(start, edges, done, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

/** Behind a lease stands its agent with all that he waits for, behind an operation that operation alone. */
function nameOf({ isLease, agent, since }: Entry, { file }: LockedFile): string {
  return isLease ? agent : `operation of ${agent} on ${file} since ${since}`
}

function walk(
  node: string,
  edges: ReadonlyMap<string, ReadonlySet<string>>,
  done: Set<string>,
  path: readonly string[]
): string[] | undefined {
  if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
  if (done.has(node)) return undefined
  for (const next of edges.get(node) ?? []) {
    const circle = walk(next, edges, done, [...path, node])
    if (circle !== undefined) return circle
  }
  done.add(node)
  return undefined
}
