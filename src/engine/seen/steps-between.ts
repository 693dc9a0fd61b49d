// What has become of a version until another one, as one agent knows it.
import { isCommandOf, isMadeBy, isWrittenBy } from '../versions/author.ts'
import type { Version } from '../versions/version.ts'
import type { AgentView } from './agent-view.ts'
import type { Knowledge } from './spans.ts'

/** Consecutive versions that the agent knows in the same way: a change that was undone is none. */
export interface Step {
  readonly from: string | null
  to: string | null
  readonly knowledge: Knowledge
  /** Others have made it, and the agent has not learned of it. */
  readonly isNews: boolean
  readonly versions: Version[]
}

interface Reader extends Pick<AgentView, 'agentId' | 'steps'> {
  /** True if what its shell commands made counts as what it wrote, though it has not been shown that. */
  readonly ownsCommands?: boolean
}

/**
 * @param versions of the path, oldest first; a version that is not among them any more was there before them
 * @param learned changes up to this version are no news
 */
export function stepsBetween(
  from: string,
  to: string | null,
  versions: readonly Version[],
  { agentId, steps: shown, ownsCommands = false }: Reader,
  learned: Pick<Version, 'seq' | 'hash'> = { seq: Infinity, hash: null }
): readonly Step[] {
  if (from === to) return []
  const until = versions.slice(0, versions.findLastIndex(({ hash }) => hash === to) + 1)
  let at = until.findLastIndex(({ hash }) => hash === from)
  // The one that is asked for is older, or was never listed.
  if (until.length === 0 || (at === -1 && versions.some(({ hash }) => hash === from)))
    return [{ from, to, knowledge: 'unseen', isNews: false, versions: [] }]
  const isOwn = (version: Version) => isWrittenBy(version, agentId) || (ownsCommands && isCommandOf(version, agentId))
  const steps: Step[] = []
  let before: string | null = from
  if (at === -1 && learned.hash !== null && until.every(({ seq }) => seq > learned.seq)) {
    before = learned.hash
    steps.push({ from, to: before, knowledge: 'unseen', isNews: false, versions: [] })
  }
  while (at < until.length - 1) {
    const jump = until.findLastIndex(({ hash }) => shown.some((one) => one.from === before && one.to === hash))
    const isShown = jump > at
    at = isShown ? jump : at + 1
    const version = until[at]!
    const knowledge = isShown ? 'shown' : isOwn(version) ? 'written' : 'unseen'
    const isNews = knowledge === 'unseen' && version.seq > learned.seq && !isMadeBy(version, agentId)
    const last = steps.at(-1)
    if (last?.knowledge === knowledge && last.isNews === isNews) {
      last.to = version.hash
      last.versions.push(version)
    } else steps.push({ from: before, to: version.hash, knowledge, isNews, versions: [version] })
    before = version.hash
  }
  return steps
}
