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

/** What a field for a moment shows: `2026-11-25T10:03:01`, in the time zone of the browser. */
export function toField(moment: string | undefined): string {
  if (moment === undefined) return ''
  const at = new Date(moment)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** @param ms what is added: a field has whole seconds */
export function fromField(text: string, ms: number): string | undefined {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at + ms).toISOString()
}
