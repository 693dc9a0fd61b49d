// What each agent has been shown: which version of which file, whole or by lines. Who has seen an older version than the one that is there is told.
import { LRUCache } from 'lru-cache'
import type { History, Version, VersionChange } from './history.ts'
import { createGivenLines, type GivenLines } from './given-lines.ts'
import type { LineRange } from './line-ranges.ts'

/** Lines of one version that an agent has seen. */
export interface SeenRange {
  /** Of the version, in its file's history. */
  readonly seq: number
  readonly hash: string
  /** Undefined for the whole file. */
  readonly lines?: LineRange | undefined
}

/** One agent's knowledge of one file. */
export interface AgentView {
  readonly agentId: string
  /** Canonical. */
  readonly path: string
  /** As the agent spelt it. */
  readonly given: string
  /** Oldest first; together they are what it has seen. */
  sights: readonly SeenRange[]
  /** Hash of the last version that it knows as a whole. */
  knownHash: string | undefined
  /** Up to this version it knows what others have changed. */
  learnedSeq: number
}

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

/** What an answer lets its caller know of a file without showing it. */
export interface Known extends Omit<Shown, 'lines'> {
  /** The version from which it knows the difference; absent where it knows the content, since it has sent it. */
  readonly from?: string
}

/** What one agent has not been told yet. */
interface Untold {
  /** Files that have changed one by one. */
  readonly views: Set<AgentView>
  /** Files that have changed among very many at once. */
  readonly bulk: Set<AgentView>
}

/** Parts of one file that are remembered one by one. */
const maxSights = 8

export type ReadTracker = ReturnType<typeof createReadTracker>

/** @param maxViews files times agents that are remembered, the most recently used ones; 0 remembers none */
export function createReadTracker(history: History, maxViews: number) {
  // A count that is given as a size takes no room before it is used.
  const bound = { maxSize: maxViews, sizeCalculation: () => 1 }
  const views = maxViews > 0 ? new LRUCache<string, AgentView>({ ...bound, dispose: forgetView }) : undefined
  const byPath = new Map<string, Set<AgentView>>()
  const untold = new Map<string, Untold>()
  const givenLines = createGivenLines()
  const listeners = new Set<(view: AgentView) => void>()
  history.onChange(note)
  history.onTrack(noteNewHistory)

  function note({ path, agentId, hash, previousHash, isBulk, seq }: VersionChange): void {
    for (const view of byPath.get(path) ?? []) {
      if (view.agentId !== agentId) {
        notePending(view, isBulk)
        continue
      }
      if (hash !== null) givenLines.unsettle(view, previousHash ?? null, hash)
      if (hash !== null && previousHash === view.knownHash) {
        // It has changed what it knew, and so knows the outcome.
        view.knownHash = hash
        const [sight, another] = view.sights
        const isWhole = sight?.hash === previousHash && sight?.lines === undefined && another === undefined
        if (isWhole) view.sights = [{ seq, hash }]
        touch(view)
      }
    }
  }

  function notePending(view: AgentView, isBulk: boolean): void {
    const { views: single, bulk } = untoldOf(view.agentId)
    if (!isBulk) {
      bulk.delete(view)
      single.add(view)
    } else if (!single.has(view)) bulk.add(view)
  }

  /** A file whose history had been dropped begins another one: who knows another version than the one that is there is told. */
  function noteNewHistory(path: string): void {
    if (!byPath.has(path)) return
    queueMicrotask(() => {
      const hash = history.last(path)?.hash
      for (const view of byPath.get(path) ?? [])
        if (hash !== undefined && view.sights.at(-1)?.hash !== hash) notePending(view, false)
    })
  }

  function touch(view: AgentView): void {
    for (const listener of listeners) listener(view)
  }

  function untoldOf(agentId: string): Untold {
    const known = untold.get(agentId) ?? { views: new Set(), bulk: new Set() }
    untold.set(agentId, known)
    return known
  }

  function forgetView(view: AgentView): void {
    const others = byPath.get(view.path)
    others?.delete(view)
    if (others?.size === 0) byPath.delete(view.path)
    clearPending(view)
  }

  /** There is nothing to tell of it any more. @returns whether there was */
  function clearPending(view: AgentView): boolean {
    const { agentId } = view
    const known = untold.get(agentId)
    if (known === undefined) return false
    const wasUntold = known.views.delete(view) || known.bulk.delete(view)
    if (known.views.size === 0 && known.bulk.size === 0) untold.delete(agentId)
    return wasUntold
  }

  /** Shortly after it was read or written: among the versions known. */
  function versionOf(path: string, hash: string): Version | undefined {
    return history.versions(path).findLast((version) => version.hash === hash)
  }

  function know(view: AgentView, { hash, seq }: Version): void {
    view.knownHash = hash ?? undefined
    view.learnedSeq = Math.max(view.learnedSeq, seq)
    clearPendingAt(view, { seq })
  }

  function clearPendingAt(view: AgentView, { seq }: Pick<Version, 'seq'>): void {
    if (history.last(view.path)?.seq === seq) clearPending(view)
  }

  function viewOf(agentId: string, { path, given }: Pick<Shown, 'path' | 'given'>): AgentView {
    const key = keyOf(agentId, path)
    const known = views?.get(key)
    if (known !== undefined) return known
    const view: AgentView = { agentId, path, given, sights: [], knownHash: undefined, learnedSeq: 0 }
    views?.set(key, view)
    const others = byPath.get(path)
    if (others === undefined) byPath.set(path, new Set([view]))
    else others.add(view)
    return view
  }

  return {
    /** An answer shows this to the agent. */
    recordRead(agentId: string | undefined, { path, given, hash, lines }: Shown): void {
      const version = versionOf(path, hash)
      if (agentId === undefined || views === undefined || version === undefined) return
      const view = viewOf(agentId, { path, given })
      const sight = { seq: version.seq, hash, lines }
      view.sights = lines === undefined ? [sight] : addSight(view.sights, sight)
      givenLines.add(view, hash, lines)
      if (lines === undefined) know(view, version)
      else if (view.sights.every(({ seq }) => seq === version.seq)) clearPendingAt(view, version)
      touch(view)
    },
    /** An answer tells the agent all that differs from what it knew: by that it knows this version. */
    recordKnown(agentId: string | undefined, { path, given, hash, from }: Known): void {
      const version = versionOf(path, hash)
      if (agentId === undefined || views === undefined || version === undefined) return
      const view = viewOf(agentId, { path, given })
      if (view.sights.length === 0) view.sights = [{ seq: version.seq, hash }]
      if (from === undefined) givenLines.add(view, hash, undefined)
      else givenLines.follow(view, from, hash)
      know(view, version)
      touch(view)
    },
    /** Which lines of this version the agent has been given; undefined where nothing of it is remembered. */
    givenLines(agentId: string | undefined, path: string, hash: string): GivenLines | undefined {
      const view = agentId === undefined ? undefined : views?.peek(keyOf(agentId, path))
      return view && givenLines.of(view, hash)
    },
    /** The version that the agent knows, as a whole or in part; undefined where that is not known here. */
    knownHash(agentId: string | undefined, path: string): string | undefined {
      const view = agentId === undefined ? undefined : views?.peek(keyOf(agentId, path))
      return view?.knownHash ?? view?.sights.at(-1)?.hash
    },
    /** A file has another name now: whoever knew it knows it by that. @param agentId who has renamed it */
    move(source: string, target: string, given: string, agentId: string | undefined): void {
      const version = history.last(target)
      for (const view of byPath.get(source) ?? []) {
        const sights = view.sights.filter(({ hash }) => hash === version?.hash)
        if (version !== undefined && sights.length > 0) {
          const moved = viewOf(view.agentId, { path: target, given })
          moved.sights = sights.map((sight) => ({ ...sight, seq: version.seq }))
          if (view.knownHash === version.hash) moved.knownHash = view.knownHash
          givenLines.move(view, moved)
          touch(moved)
        }
        // Others are told first that the old name is gone.
        if (view.agentId === agentId) views?.delete(keyOf(agentId, source))
      }
    },
    hasUntold: (agentId: string): boolean => untold.has(agentId),
    /** Files of which the agent has not been told, in the order in which they changed. They stay until they are settled. */
    untold: (agentId: string): readonly AgentView[] => [...(untold.get(agentId)?.views ?? [])],
    countUntold: (agentId: string): number => {
      const known = untold.get(agentId)
      return known === undefined ? 0 : known.views.size + known.bulk.size
    },
    /** Those that changed among very many at once. */
    untoldBulk: (agentId: string): readonly AgentView[] => [...(untold.get(agentId)?.bulk ?? [])],
    clearPending,
    /** It has been told that others have changed the file up to this version, and not what. */
    markNotified(view: AgentView, seq: number): void {
      view.learnedSeq = Math.max(view.learnedSeq, seq)
      touch(view)
    },
    /** From now on the agent's knowledge counts from these versions: it has been told what came before. */
    advance(view: AgentView, sights: readonly SeenRange[]): void {
      view.sights = sights
      touch(view)
    },
    /** Told of every view that has changed. @returns ends it */
    onChange(listener: (view: AgentView) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    forget: (view: AgentView): boolean => views?.delete(keyOf(view.agentId, view.path)) === true,
    /** All that is known, the least recently used first. */
    *dump(): Generator<AgentView> {
      for (const key of views?.rkeys() ?? []) {
        const view = views?.peek(key)
        if (view !== undefined) yield view
      }
    },
    /** Takes up what was known before this process; what has changed since is told. */
    restore(saved: AgentView): void {
      const { agentId, path } = saved
      // Whoever has called meanwhile knows better, and of a file without a history nothing could be told.
      if (views === undefined || views.has(keyOf(agentId, path)) || history.last(path) === undefined) return
      const view = Object.assign(viewOf(agentId, saved), saved)
      const since = newest(view)
      if (history.versions(path).some((version) => version.seq > since && version.agentId !== agentId))
        untoldOf(agentId).views.add(view)
    }
  }
}

function newest({ sights, learnedSeq }: AgentView): number {
  return Math.max(learnedSeq, ...sights.map(({ seq }) => seq))
}

function keyOf(agentId: string, path: string): string {
  return `${agentId}\0${path}`
}

/** With those of the same version that it touches it becomes one, and it replaces older ones of its own lines; a whole one of the same version says it already. */
function addSight(sights: readonly SeenRange[], added: SeenRange): readonly SeenRange[] {
  let { start, end } = added.lines ?? { start: 1, end: 0 }
  const others: SeenRange[] = []
  for (const sight of sights) {
    const { lines } = sight
    const isSame = sight.seq === added.seq
    if (isSame && lines === undefined) return sights
    if (isSame && lines !== undefined && lines.start <= end + 1 && start <= lines.end + 1) {
      start = Math.min(start, lines.start)
      end = Math.max(end, lines.end)
    } else if (isSame || lines === undefined || lines.start < start || lines.end > end) others.push(sight)
  }
  return [...others, { ...added, lines: { start, end } }].slice(-maxSights)
}
