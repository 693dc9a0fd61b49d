// Finds an order in which transactions, one after the other, see what they saw and leave what they left; if there is none, they were not serialisable.
import { groupBy } from '../contenders/group-by.ts'

/** The hash of a file, or null if there is none. */
export type Version = string | null
export type Versions = ReadonlyMap<string, Version>

/** One call: what it has seen of the files, and what it has made of them. */
export interface Act {
  /** An agent sends a call when it has the answer to the one before. */
  readonly agent: string
  readonly name: string
  readonly sentAt: number
  readonly answeredAt: number
  readonly saw: Versions
  readonly made: Versions
}

interface Step {
  readonly act: Act
  /** What the files were before it, of those that it has made. */
  readonly before: Versions
  /** What else could have come here. */
  readonly others: Act[]
}

/** Without an order the search is over all of them; a sound history needs next to none of these. */
const maxDeadEnds = 100_000

/**
 * An act that was answered before another one was sent comes before it (strict serialisability).
 * @param acts each agent's in the order in which it has sent them
 * @returns the versions at the end, or a sentence: where no act can be the next one
 */
export function findOrder(start: Versions, acts: readonly Act[]): { readonly end: Versions } | { stuck: string } {
  const files = new Map(start)
  const queues = [...groupBy(acts, ({ agent }) => agent).values()]
  const positions = queues.map(() => 0)
  const queueOf = new Map(queues.map((queue, index) => [queue[0]!.agent, index]))
  const steps: Step[] = []
  const deadEnds = new Set<string>()
  const versionAt = (path: string) => files.get(path) ?? null
  let farthest = { length: -1, stuck: '' }

  const heads = () => queues.flatMap((queue, index) => queue[positions[index]!] ?? [])
  const fits = ({ saw }: Act) => [...saw].every(([path, version]) => versionAt(path) === version)
  const place = () => `${positions.join()} ${[...files].join()}`

  /** What may come next. An act that has made nothing never hinders another one. */
  function choices(): Act[] {
    const next = heads()
    const end = Math.min(...next.map(({ answeredAt }) => answeredAt))
    const possible = next.filter((act) => act.sentAt <= end && fits(act))
    const reading = possible.find(({ made }) => made.size === 0)
    return reading ? [reading] : possible.sort((one, other) => other.answeredAt - one.answeredAt)
  }

  function go(others: Act[]): void {
    const act = others.pop()!
    const before = new Map([...act.made.keys()].map((path) => [path, versionAt(path)]))
    for (const [path, version] of act.made) files.set(path, version)
    positions[queueOf.get(act.agent)!]! += 1
    steps.push({ act, before, others })
  }

  function goBack(): Act[] {
    const { act, before, others } = steps.pop()!
    positions[queueOf.get(act.agent)!]! -= 1
    for (const [path, version] of before) files.set(path, version)
    return others
  }

  let possible = choices()
  while (steps.length < acts.length) {
    const isDeadEnd = possible.length === 0 || (deadEnds.size > 0 && deadEnds.has(place()))
    if (!isDeadEnd) {
      go(possible)
      possible = choices()
      continue
    }
    if (steps.length > farthest.length) farthest = { length: steps.length, stuck: describe(heads(), versionAt) }
    deadEnds.add(place())
    if (steps.length === 0 || deadEnds.size > maxDeadEnds)
      return { stuck: `after ${farthest.length} of ${acts.length} no act can come next: ${farthest.stuck}` }
    possible = goBack()
  }
  return { end: files }
}

function describe(acts: readonly Act[], versionAt: (path: string) => Version): string {
  const misfits = acts.flatMap(({ agent, name, saw }) => {
    const wrong = [...saw].filter(([path, version]) => versionAt(path) !== version)
    const words = wrong.map(([path, version]) => `${path} as ${brief(version)}, which is ${brief(versionAt(path))}`)
    return words.length === 0 ? [] : [`${agent}'s ${name} saw ${words.join(' and ')}`]
  })
  return misfits.join('; ')
}

const brief = (version: Version) => (version === null ? 'gone' : version.slice(0, 15))
