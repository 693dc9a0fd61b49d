// The native tools that are changing files right now: each has its files locked until its harness reports the end, or its time is over.

/** `silent`: the harness has not said that the tool has ended. */
export type TurnEnd = 'reported' | 'silent'

export interface NativeTurn {
  readonly agentId: string
  /** Of the harness; undefined if it does not number its calls. */
  readonly callId: string | undefined
  /** Canonical. */
  readonly paths: readonly string[]
  /** Records what the tool has made of its files, and gives them back. @returns what others had changed in them, for the model */
  readonly end: (end: TurnEnd) => Promise<string | undefined>
}

export type NativeTurns = ReturnType<typeof createNativeTurns>

/** Kinds of hook input that are remembered as logged. */
const maxLogged = 100

export function createNativeTurns() {
  const turns = new Set<NativeTurn>()
  const logged = new Set<string>()

  return {
    /** @returns removes it */
    add(turn: NativeTurn): () => void {
      turns.add(turn)
      return () => turns.delete(turn)
    },
    /** Those of one agent that have one of these files; of the call if both have a number. */
    of: (agentId: string, paths: readonly string[], callId?: string): readonly NativeTurn[] =>
      [...turns].filter(
        (turn) =>
          turn.agentId === agentId &&
          turn.paths.some((path) => paths.includes(path)) &&
          (callId === undefined || turn.callId === undefined || turn.callId === callId)
      ),
    /** True while a native tool has the file. */
    isAt: (path: string): boolean => [...turns].some(({ paths }) => paths.includes(path)),
    /** Ends all, or those of some agents. */
    async end(isMeant: (agentId: string) => boolean = () => true): Promise<void> {
      await Promise.allSettled([...turns].filter(({ agentId }) => isMeant(agentId)).map(({ end }) => end('silent')))
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
