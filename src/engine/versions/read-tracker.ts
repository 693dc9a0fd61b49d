// What each agent has been shown: which version of which file, whole or by lines. An agent that has seen an older version gets a notice.
import { isMadeBy, type History, type VersionChange } from './history.ts'
import type { Version } from './version.ts'
import type { AgentView } from './agent-view.ts'
import { createGivenLines, type GivenLines } from './given-lines.ts'
import type { LineRange } from './line-ranges.ts'
import { addSeenRange, type SeenRange } from './seen-ranges.ts'
import { createUnreportedViews } from './unreported-views.ts'
import { createViewShares } from './view-shares.ts'

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

/** What the caller of an answer knows of a file that the answer does not show. */
export interface Known extends Omit<Shown, 'lines'> {
  /** The version from which the caller knows the difference; absent if the caller sent the content. */
  readonly from?: string
}

type Seen = Pick<Version, 'seq' | 'hash'>

// Measured: what a view takes beside its names, and each range of lines in it.
const viewBytes = 440
const sightBytes = 100

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
  const givenLines = createGivenLines()
  const listeners = new Set<(view: AgentView) => void>()
  history.onChange(note)
  history.onTrack(noteNewHistory)

  function note(change: VersionChange): void {
    const { path, hash, previousHash, isBulk, seq } = change
    for (const view of byPath.get(path) ?? []) {
      if (!isMadeBy(change, view.agentId)) {
        unreported.add(view, isBulk)
        continue
      }
      if (hash !== null) givenLines.unsettle(view, previousHash ?? null, hash)
      if (hash !== null && previousHash === view.knownHash) {
        // The agent changed what it knew, so it knows the outcome.
        view.knownHash = hash
        const [range, another] = view.sights
        const isWhole = range?.hash === previousHash && range?.lines === undefined && another === undefined
        if (isWhole) view.sights = [{ seq, hash }]
        touch(view)
      }
    }
  }

  /** A file whose history was dropped begins a new one: an agent that knows another version than the current one gets a notice. */
  function noteNewHistory(path: string): void {
    if (!byPath.has(path)) return
    queueMicrotask(() => {
      const hash = history.last(path)?.hash
      for (const view of byPath.get(path) ?? [])
        if (hash !== undefined && view.sights.at(-1)?.hash !== hash) unreported.add(view, false)
    })
  }

  function touch(view: AgentView): void {
    views?.use(view)
    for (const listener of listeners) listener(view)
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

  /** A version that is read while a native tool has the file is recorded when that tool has ended. */
  function versionAhead(path: string, hash: string): Seen | undefined {
    const last = history.last(path)
    return last && { seq: last.seq, hash }
  }

  function know(view: AgentView, { hash, seq }: Seen): void {
    view.knownHash = hash ?? undefined
    view.learnedSeq = Math.max(view.learnedSeq, seq)
    clearPendingAt(view, { seq })
  }

  function clearPendingAt(view: AgentView, { seq }: Pick<Version, 'seq'>): void {
    if (history.last(view.path)?.seq === seq) unreported.remove(view)
  }

  /** What an agent has read is reported late, by a hook say, and others may have changed it before there was a view to mark. */
  function hasChangedSince({ path, agentId, learnedSeq }: AgentView, { seq }: Pick<Version, 'seq'>): boolean {
    const since = Math.max(seq, learnedSeq)
    if ((history.last(path)?.seq ?? since) <= since) return false
    return history.versions(path).some((version) => version.seq > since && !isMadeBy(version, agentId))
  }

  function viewOf(agent: string, { path: asRead, given: asGiven }: Pick<Shown, 'path' | 'given'>): AgentView {
    const known = views?.get(agent, asRead)
    if (known !== undefined) return known
    // The same text is in memory once.
    const agentId = history.sharedName(agent)
    const path = history.sharedPath(asRead)
    const given = asGiven === path ? path : asGiven
    const view: AgentView = { agentId, path, given, sights: [], knownHash: undefined, learnedSeq: 0 }
    views?.add(view)
    const others = byPath.get(path)
    if (others === undefined) byPath.set(path, new Set([view]))
    else others.add(view)
    return view
  }

  function sizeOfView(view: AgentView): number {
    const { path, given, sights } = view
    const names = path.length + (given === path ? 0 : given.length)
    return viewBytes + names + sightBytes * sights.length + givenLines.sizeOf(view)
  }

  return {
    /** An answer shows this to the agent. */
    recordRead(agentId: string | undefined, { path, given, hash, lines }: Shown): void {
      const version = versionOf(path, hash) ?? versionAhead(path, hash)
      if (agentId === undefined || views === undefined || version === undefined) return
      const view = viewOf(agentId, { path, given })
      const range = { seq: version.seq, hash: version.hash ?? hash, lines }
      view.sights = lines === undefined ? [range] : addSeenRange(view.sights, range)
      givenLines.add(view, hash, lines)
      if (lines === undefined) know(view, version)
      else if (view.sights.every(({ seq }) => seq === version.seq)) clearPendingAt(view, version)
      if (hasChangedSince(view, version)) unreported.add(view, false)
      touch(view)
    },
    /** An answer shows the agent all that differs from what it knew, so the agent knows this version. */
    recordKnown(agentId: string | undefined, { path, given, hash, from }: Known): void {
      const version = versionOf(path, hash)
      if (agentId === undefined || views === undefined || version === undefined) return
      const view = viewOf(agentId, { path, given })
      if (view.sights.length === 0) view.sights = [{ seq: version.seq, hash: version.hash ?? hash }]
      if (from === undefined) givenLines.add(view, hash, undefined)
      else givenLines.follow(view, from, hash)
      know(view, version)
      touch(view)
    },
    /** Which lines of this version the agent has been given; undefined if nothing of it is remembered. */
    givenLines(agentId: string | undefined, path: string, hash: string): GivenLines | undefined {
      const view = agentId === undefined ? undefined : views?.get(agentId, path)
      return view && givenLines.of(view, hash)
    },
    /** The version that the agent knows, as a whole or in part; undefined if that is not known here. */
    knownHash(agentId: string | undefined, path: string): string | undefined {
      const view = agentId === undefined ? undefined : views?.get(agentId, path)
      const last = view?.sights.at(-1)
      return view?.knownHash ?? last?.shownHash ?? last?.hash
    },
    /** The versions of which the agent has seen something, what it knows as a whole first, then the latest. */
    seenHashes(agentId: string, path: string): readonly string[] {
      const view = views?.get(agentId, path)
      if (view === undefined) return []
      const hashes = [view.knownHash, ...view.sights.map(({ hash, shownHash = hash }) => shownHash).reverse()]
      return [...new Set(hashes.filter((hash) => hash !== undefined))]
    },
    /** The agent knows that the file is gone. */
    forgetFile(agentId: string, path: string): void {
      const view = views?.get(agentId, path)
      if (view !== undefined) views?.remove(view)
    },
    /** A file has a new name: the agents that knew the file know it by that. @param agentId the agent that renamed it */
    move(source: string, target: string, given: string, agentId: string | undefined): void {
      const version = history.last(target)
      for (const view of byPath.get(source) ?? []) {
        const sights = view.sights.filter(({ hash }) => hash === version?.hash)
        // An agent that has read the file which is replaced is to be told of that name, too.
        const hasRead = view.agentId !== agentId && views?.get(view.agentId, target) !== undefined
        if (version !== undefined && sights.length > 0 && !hasRead) {
          const moved = viewOf(view.agentId, { path: target, given })
          moved.sights = sights.map((range) => ({ ...range, seq: version.seq }))
          if (view.knownHash === version.hash) moved.knownHash = view.knownHash
          givenLines.move(view, moved)
          touch(moved)
        }
        // The views of other agents stay until those learn that the old name is gone.
        if (view.agentId === agentId) views?.remove(view)
      }
    },
    /** Changes that agents do not know of yet. */
    unreported,
    /** The agent knows that others have changed the file up to this version, but not what. */
    markNotified(view: AgentView, seq: number): void {
      view.learnedSeq = Math.max(view.learnedSeq, seq)
      touch(view)
    },
    /** From now on the agent's knowledge counts from these versions: the agent knows what came before. */
    advance(view: AgentView, sights: readonly SeenRange[]): void {
      view.sights = sights
      touch(view)
    },
    /** Reports every view that has changed. @returns removes the listener */
    onChange(listener: (view: AgentView) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    forget: (view: AgentView): boolean => views?.remove(view) === true,
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
      const { sights, knownHash, learnedSeq } = saved
      const view = Object.assign(viewOf(agentId, saved), { sights, knownHash, learnedSeq })
      views.use(view)
      const since = newest(view)
      if (history.versions(path).some((version) => version.seq > since && !isMadeBy(version, agentId)))
        unreported.add(view, false)
    }
  }
}

function newest({ sights, learnedSeq }: AgentView): number {
  return Math.max(learnedSeq, ...sights.map(({ seq }) => seq))
}
