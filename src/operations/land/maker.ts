// Who has made a change that is not committed, as far as that is known.
import type { Version } from '../../engine/versions/version.ts'
import { external, probableEdit } from '../../engine/versions/history.ts'

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
}

export const unknown: Maker = { agentId: 'unknown', isCertain: false, seq: 0 }

/** The same, where what was there before was not seen: another program may have changed it, too. */
export function orExternal(maker: Maker): Maker {
  const { agentId, agents = [agentId] } = maker
  return maker === unknown ? maker : { ...maker, isCertain: false, agents: [...agents, external.agentId] }
}

export function makerOf({ agentId, operation, changeSet, agents, seq }: Version): Maker {
  return { agentId, isCertain: operation !== probableEdit && agents === undefined, agents, changeSet, seq }
}
