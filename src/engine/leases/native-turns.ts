// The native tools that are changing files right now: each has its files locked until its harness reports the end, or its time is over.
import { LRUCache } from 'lru-cache'
import type { StringPatch } from '../../../schemas/patches.ts'
import type { FileVersion } from '../files/read-file.ts'

/** One file that a native tool is about to change. */
export interface TargetFile {
  /** Canonical. */
  readonly path: string
  /** As the harness spells it. */
  readonly given: string
  /** Without them the whole file counts as changed. */
  readonly patches?: readonly StringPatch[] | undefined
  /** The whole new content, if the tool says it. */
  readonly content?: string | undefined
}

/** What others have changed since the session saw the file, beside the place of its edit. */
export interface UnseenChange {
  readonly path: string
  readonly given: string
  readonly from: string
  readonly to: string
  readonly authors: string
}

/** What a tool is about to do. */
export interface Announcement {
  /** Of the harness; undefined if it does not number its calls. */
  readonly callId: string | undefined
  readonly files: readonly TargetFile[]
  readonly unseen: readonly UnseenChange[]
}

/** The edits of one agent that have been announced for some files, which are locked until the last of these edits has ended. */
export interface NativeTurn {
  readonly agentId: string
  /** By canonical path, what was there when the turn began; undefined if there was no file. */
  readonly before: ReadonlyMap<string, FileVersion | undefined>
  readonly isOver: boolean
  /** @returns false if the turn is over */
  readonly announce: (announcement: Announcement) => boolean
  /** A tool has ended. @returns if it was the last one, what others had changed in the files, for the model */
  readonly report: (callId: string | undefined, files: readonly TargetFile[]) => Promise<string | undefined>
  /** Ends it unheard: records what the tools have made of its files, and gives them back. */
  readonly end: () => Promise<unknown>
}

export type NativeTurns = ReturnType<typeof createNativeTurns>

/** Kinds of hook input that are remembered as logged. */
const maxLogged = 100
/** Agents that are remembered as named; one that has been forgotten hears its name once more. */
const maxNamed = 1000

export function createNativeTurns() {
  const turns = new Set<NativeTurn>()
  const logged = new Set<string>()
  const named = new LRUCache<string, true>({ max: maxNamed })

  return {
    /** @returns removes it */
    add(turn: NativeTurn): () => void {
      turns.add(turn)
      return () => turns.delete(turn)
    },
    /** Those of one agent that have one of these files. */
    of: (agentId: string, paths: readonly string[]): readonly NativeTurn[] =>
      [...turns].filter((turn) => turn.agentId === agentId && paths.some((path) => turn.before.has(path))),
    /** True while a native tool has the file. */
    isAt: (path: string): boolean => [...turns].some(({ before }) => before.has(path)),
    /** Ends all, or those of some agents. */
    async end(isMeant: (agentId: string) => boolean = () => true): Promise<void> {
      for (const agentId of [...named.keys()].filter(isMeant)) named.delete(agentId)
      await Promise.allSettled([...turns].filter(({ agentId }) => isMeant(agentId)).map(({ end }) => end()))
    },
    /** True once for each agent, until its session ends. */
    isNewAgent(agentId: string): boolean {
      if (named.has(agentId)) return false
      named.set(agentId, true)
      return true
    },
    /** True once for each kind: a log line for every tool call would be too many. */
    isNewKind(kind: string): boolean {
      if (logged.has(kind) || logged.size >= maxLogged) return false
      logged.add(kind)
      return true
    },
    get size(): number {
      return turns.size
    }
  }
}
