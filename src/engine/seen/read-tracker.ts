// What each agent has seen of each file: the one account that its notices, not_modified and the replacing of a file go by.
import { byCommand, isMadeBy, isWrittenBy } from '../versions/author.ts'
import type { History, VersionChange } from '../versions/history.ts'
import type { Version } from '../versions/version.ts'
import type { AgentView } from './agent-view.ts'
import type { LineRange } from './line-ranges.ts'
import { addSeen, addStep, lastWhole, noSteps, seenOf, sizeOfSeen, type SeenVersion } from './seen-versions.ts'
import { spanOf, type Spans } from './spans.ts'
import { createUnreportedViews } from './unreported-views.ts'
import { createViewShares } from './view-shares.ts'
import { createListeners } from '../../support/listeners.ts'

/** What an answer shows of a file. */
export interface Shown {
  /** Canonical. */
  readonly path: string
  /** As the agent spelt it. */
  readonly given: string
  readonly hash: string
  /** Undefined for the whole file. */
  readonly lines?: LineRange | undefined
}

/** A version of which the agent learns, and how its file is named. */
export type Named = Omit<Shown, 'lines'>

// Measured: what a view takes beside its names.
const viewBytes = 660

export type ReadTracker = ReturnType<typeof createReadTracker>

interface TrackerOptions {
  /** Pairs of file and agent to remember; 0 remembers none. */
  readonly maxViews: number
  /** Bytes that they may take in memory. */
  readonly maxBytes: number
}

export function createReadTracker(history: History, { maxViews, maxBytes }: TrackerOptions) {
  const views =
    maxViews > 0 ? createViewShares({ maxViews, maxBytes, onForget: forgetView, sizeOf: sizeOfView }) : undefined
  const byPath = new Map<string, Set<AgentView>>()
  const unreported = createUnreportedViews()
  const changes = createListeners<[view: AgentView]>()
  history.onEntry(({ operation, isBulk, steps }) => {
    for (const step of steps) note(step, isBulk)
    if (operation === byCommand) for (const step of steps) if (step.renamedFrom !== undefined) follow(step)
  })
  history.onTrack(noteNewHistory)

  function note(change: VersionChange, isBulk: boolean): void {
    const { path, hash, previousHash = null } = change
    for (const view of byPath.get(path) ?? []) {
      if (!isMadeBy(change, view.agentId)) unreported.add(view, isBulk)
      else if (hash !== null && isWrittenBy(change, view.agentId) && seenOf(view.seen, previousHash) === 'all') {
        // The agent changed what it knew as a whole, so it knows the outcome.
        view.seen = addSeen(view.seen, hash, 'all')
        touch(view)
      }
    }
  }

  function follow({ path, renamedFrom, agentId, agents }: VersionChange): void {
    if (renamedFrom !== undefined) move(renamedFrom, path, path, agents === undefined ? agentId : undefined)
  }

  /** A file whose history was dropped begins a new one: an agent that knows another version than the current one gets a notice. */
  function noteNewHistory(path: string): void {
    if (!byPath.has(path)) return
    queueMicrotask(() => {
      const hash = history.last(path)?.hash
      for (const view of byPath.get(path) ?? [])
        if (hash !== undefined && view.learnedHash !== hash) unreported.add(view, false)
    })
  }

  function touch(view: AgentView): void {
    views?.use(view)
    changes.call(view)
  }

  function forgetView(view: AgentView): void {
    const others = byPath.get(view.path)
    others?.delete(view)
    if (others?.size === 0) byPath.delete(view.path)
    unreported.remove(view)
  }

  /** Called shortly after the version was read or written, so that it is among the known ones. */
  function versionOf(path: string, hash: string): Version | undefined {
    return history.versions(path).findLast((version) => version.hash === hash)
  }

  /** Up to this version nothing is news to the agent, whatever it has seen of it. @param see adds what it has seen */
  function know(agentId: string | undefined, named: Named, see?: (view: AgentView, hash: string) => void): void {
    const version = versionOf(named.path, named.hash)
    if (agentId === undefined || views === undefined || version === undefined) return
    const view = viewOf(agentId, named)
    const hash = version.hash ?? named.hash
    see?.(view, hash)
    if (view.seen.length === 0) view.seen = addSeen([], hash, [])
    if (version.seq > view.learnedSeq) learn(view, version)
    if (isLast(view, version)) unreported.remove(view)
    touch(view)
  }

  function learn(view: AgentView, { seq, hash }: Pick<Version, 'seq' | 'hash'>): void {
    view.learnedSeq = seq
    view.learnedHash = hash
  }

  const isLast = ({ path }: AgentView, { seq }: Pick<Version, 'seq'>) => history.last(path)?.seq === seq

  const hasOthersSince = ({ path, agentId }: AgentView, seq: number) =>
    history.versions(path).some((version) => version.seq > seq && !isMadeBy(version, agentId))

  function viewOf(agent: string, { path: asRead, given: asGiven }: Pick<Shown, 'path' | 'given'>): AgentView {
    const known = views?.get(agent, asRead)
    if (known !== undefined) return known
    // The same text is in memory once.
    const agentId = history.sharedName(agent)
    const path = history.sharedPath(asRead)
    const given = asGiven === path ? path : asGiven
    const view: AgentView = { agentId, path, given, seen: [], steps: noSteps, learnedSeq: 0, learnedHash: null }
    views?.add(view)
    const others = byPath.get(path)
    if (others === undefined) byPath.set(path, new Set([view]))
    else others.add(view)
    return view
  }

  /** A file has a new name: the agents that knew the file know it by that. @param agentId the agent that renamed it */
  function move(source: string, target: string, given: string, agentId: string | undefined): void {
    const version = history.last(target)
    for (const view of byPath.get(source) ?? []) {
      // An agent that has read the file which is replaced is to be told of that name, too.
      const hasRead = view.agentId !== agentId && views?.get(view.agentId, target) !== undefined
      if (version !== undefined && !hasRead) {
        const { seen, steps } = view
        const moved = Object.assign(viewOf(view.agentId, { path: target, given }), { seen, steps })
        learn(moved, version)
        touch(moved)
      }
      // The views of other agents stay until those learn that the old name is gone.
      if (view.agentId === agentId) views?.remove(view)
    }
  }

  function sizeOfView(view: AgentView): number {
    const { path, given, seen, steps } = view
    const names = path.length + (given === path ? 0 : given.length)
    return viewBytes + names + sizeOfSeen(seen, steps)
  }

  const find = (agentId: string | undefined, path: string): AgentView | undefined =>
    agentId === undefined ? undefined : views?.get(agentId, path)

  return {
    /** An answer shows this to the agent. */
    recordRead(agentId: string | undefined, { path, given, hash, lines }: Shown): void {
      // A version that is read while a native tool has the file is recorded when that tool has ended.
      const version = versionOf(path, hash) ?? history.last(path)
      if (agentId === undefined || views === undefined || version === undefined) return
      const view = viewOf(agentId, { path, given })
      const { seq } = version
      const isFirst = view.seen.length === 0
      const known = version.hash === hash ? version.hash : hash
      view.seen = addSeen(view.seen, known, lines === undefined ? 'all' : [spanOf(lines)])
      // What a hook reports late may have been changed since, as the agent was told of other lines.
      if (isFirst || lines === undefined || seq < view.learnedSeq) learn(view, version)
      const isUpToDate = isLast(view, version) && view.seen.every((one) => one.hash === known || lines === undefined)
      if (isUpToDate) unreported.remove(view)
      else if (hasOthersSince(view, seq)) unreported.add(view, false)
      touch(view)
    },
    /** The agent has sent all of this version. */
    recordSent(agentId: string | undefined, named: Named): void {
      know(agentId, named, (view, hash) => {
        view.seen = addSeen(view.seen, hash, 'all')
      })
    },
    /** An answer shows the agent all that differs between two versions. */
    recordDifference(agentId: string | undefined, { from, ...named }: Named & { readonly from: string }): void {
      know(agentId, named, (view, hash) => {
        if (view.seen.length === 0) view.seen = addSeen([], from, [])
        if (seenOf(view.seen, from) === 'all') view.seen = addSeen(view.seen, hash, 'all')
        else if (from !== hash) view.steps = addStep(view.steps, { from, to: hash })
      })
    },
    /** The agent has named this version, or made it of the one that it named: no change up to it is news. It is shown nothing. */
    recordNamed: (agentId: string | undefined, named: Named): void => know(agentId, named),
    /** What a tool of the agent has made of a part of the file, beside what it had seen. */
    recordParts(agentId: string, named: Named, spans: Spans): void {
      const { path, hash } = named
      const version = versionOf(path, hash)
      if (views === undefined || version === undefined) return
      const view = viewOf(agentId, named)
      if (view.seen.length === 0) learn(view, version)
      if (view.seen.length === 0 || spans.length > 0) view.seen = addSeen(view.seen, hash, spans)
      touch(view)
    },
    /** What the agent has seen, as it was shown; undefined if nothing is remembered of the file. */
    seen: (agentId: string | undefined, path: string): Readonly<AgentView> | undefined => find(agentId, path),
    /** What the agent has been shown of this very version; undefined if nothing of it is remembered. */
    seenOf(agentId: string | undefined, path: string, hash: string): SeenVersion['spans'] | undefined {
      const view = find(agentId, path)
      return view && seenOf(view.seen, hash)
    },
    /** Of the versions of which any agent was shown something. */
    *hashesShown(path: string): Generator<string> {
      for (const { seen, steps } of byPath.get(path) ?? []) {
        for (const { hash } of seen) yield hash
        for (const { from, to } of steps) yield* [from, to]
      }
    },
    /** The version that the agent knows as a whole, or else the last one that it knows in part. */
    knownHash(agentId: string | undefined, path: string): string | undefined {
      const view = find(agentId, path)
      return view && (lastWhole(view.seen) ?? view.seen.at(-1)?.hash)
    },
    /** The agent knows that the file is gone. */
    forget(agentId: string, path: string): void {
      const view = find(agentId, path)
      if (view !== undefined) views?.remove(view)
    },
    move,
    /** Changes that agents do not know of yet. */
    unreported,
    /** The agent is told that the file was changed up to this version. */
    markNotified(view: AgentView, version: Pick<Version, 'seq' | 'hash'>): void {
      if (version.seq > view.learnedSeq) learn(view, version)
      touch(view)
    },
    /** Reports every view that has changed. @returns removes the listener */
    onChange: changes.add,
    /** All that is known, the least recently used of each agent first. */
    dump: (): Iterable<AgentView> => views?.all() ?? [],
    /** Bytes that all this takes in memory, as far as it is counted. */
    get bytes(): number {
      return views?.bytes ?? 0
    },
    /** Restores a view of an earlier process; changes since then are still to be reported. */
    restore(saved: AgentView): void {
      const { agentId, path } = saved
      // A view made by a call meanwhile is newer, and a file without a history has nothing to report.
      if (views === undefined || views.get(agentId, path) !== undefined || history.last(path) === undefined) return
      const { seen, steps, learnedSeq, learnedHash } = saved
      const view = Object.assign(viewOf(agentId, saved), { seen, steps, learnedSeq, learnedHash })
      views.use(view)
      if (hasOthersSince(view, learnedSeq)) unreported.add(view, false)
    }
  }
}
