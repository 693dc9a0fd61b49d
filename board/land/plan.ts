// Asks the server what could be landed, and lands it.
import type { LandOutput, LandPrepareOutput } from '../../schemas/land.ts'
import { call } from '../server.ts'

export type Share = LandPrepareOutput['plan'][number]
export type Landing = LandOutput

export interface LandChoice {
  readonly agent: string
  /** Agents whose changes are taken along. */
  readonly with?: readonly string[]
  readonly include_uncertain: boolean
  readonly include_overwritten: boolean
  readonly message?: string
}

/** What each agent alone would land, in an order in which all could. */
export const planOfAll = (): Promise<LandPrepareOutput> => call('land_prepare', {})

export const planLanding = (choice: LandChoice): Promise<Landing> => call('land', { ...choice, dry_run: true })

export const land = (choice: LandChoice): Promise<Landing> => call('land', { ...choice, agent_id: 'board' })
