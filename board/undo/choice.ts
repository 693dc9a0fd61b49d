// Which changes are to be taken back, as async_undo takes them. Pure.
import type { UndoInput } from '../../schemas/undo.ts'
import type { HistoryVersion } from '../model.ts'

type Filter = 'by_agent' | 'of_change_set' | 'since' | 'until' | 'paths' | 'versions'
export type Choice = { readonly [Name in Filter]?: UndoInput[Name] | undefined }

/** Opens the dialog that takes them back. */
export type OnUndo = (choice: Choice, isRedo?: boolean) => void

export const isEmpty = (choice: Choice): boolean => Object.values(choice).every((value) => value === undefined)

/** Exactly this change. */
export function choiceOf({ path, hash, agent_id, at }: HistoryVersion, short: (path: string) => string): Choice {
  const moment = { since: at, until: at }
  if (hash !== null) return { versions: [{ path, hash }], ...moment }
  return { by_agent: agent_id ?? 'external', paths: [escapeGlob(short(path))], ...moment }
}

/** A pattern that fits this path alone. */
export const escapeGlob = (path: string): string => path.replace(/[\\*?[\]{},!]/g, '\\$&')
