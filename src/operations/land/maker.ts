// Who has made a change that is not committed, as far as that is known.
import { nobodyKnown, type Version } from '../../engine/versions/version.ts'
import { external, probableEdit } from '../../engine/versions/author.ts'

export interface Maker {
  /** `external` for people and programs beside the server, `unknown` where nobody can tell. */
  readonly agentId: string
  /** False if it may have been another one. */
  readonly isCertain: boolean
  /** Those of whom one has made it, if that is not certain. */
  readonly agents?: readonly string[] | undefined
  readonly changeSet?: string | undefined
  /** Of the version. */
  readonly seq: number
  /** When it was made, in milliseconds since the epoch. */
  readonly at?: number
  /** Of an undo: `seq` of what it has taken back. */
  readonly takesBack?: readonly number[] | undefined
  /** True for what stands for versions that are no longer kept. */
  readonly isForgotten?: true
}

export const unknown: Maker = { agentId: nobodyKnown, isCertain: false, seq: 0 }

/** True if no version says who has made it, and none that did is forgotten. */
export function isUnknown({ agentId, isForgotten }: Maker): boolean {
  return agentId === nobodyKnown && isForgotten !== true
}

/** The same, where what was there before was not seen: another program may have changed it, too. */
export function orExternal(maker: Maker): Maker {
  const { agentId, agents = [agentId] } = maker
  return maker === unknown ? maker : { ...maker, isCertain: false, agents: [...agents, external.agentId] }
}

/** Stands for versions that are no longer kept, made by one of these. */
export function forgottenMaker(agents: readonly string[]): Maker {
  return agents.length === 0 ? unknown : { ...unknown, agents: [...new Set(agents)], isForgotten: true }
}

/** Whether an agent has made it, or is one of those of whom one has. */
export function mayBeOf({ agentId, isCertain, isForgotten, agents = [agentId] }: Maker, agent: string): boolean {
  if (isCertain) return agentId === agent
  return agents.includes(agent) || (isForgotten === true && agents.includes(nobodyKnown))
}

export function makerOf({ agentId, operation, changeSet, agents, seq, at, takesBack }: Version): Maker {
  return {
    agentId,
    isCertain: operation !== probableEdit && agents === undefined,
    agents,
    changeSet,
    seq,
    at,
    takesBack
  }
}
