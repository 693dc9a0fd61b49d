// Which changes an undo takes back.
import type { UndoInput } from '../../../schemas/undo.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { compileBelowRoots } from '../../engine/files/glob/below-roots.ts'
import { external } from '../../engine/versions/author.ts'
import { OperationError } from '../../errors.ts'
import { firstDigits } from '../../support/hash-digits.ts'
import type { Lineage, LineageChange } from './lineages.ts'

export interface Choice {
  readonly isChosen: (change: LineageChange) => boolean
  /** Changes that would be chosen if it were known who made them. */
  readonly isUncertain: (change: LineageChange) => boolean
}

/** Whether changes from outside the server are meant, too: by their name, by time, or by the versions they made. */
export function meansOutside({ by_agent, since, until, versions }: UndoInput): boolean {
  if (by_agent !== undefined) return by_agent === external.agentId
  return since !== undefined || until !== undefined || versions !== undefined
}

/** @throws OperationError INVALID_REQUEST, INVALID_PATTERN */
export function toChoice(input: UndoInput, { files }: OperationContext): Choice {
  const { by_agent, of_change_set, since, until, paths, versions } = input
  const given = [by_agent, of_change_set, since, until, paths, versions]
  if (given.every((filter) => filter === undefined)) {
    const message = 'Say which changes to take back: by_agent, of_change_set, since, until, paths or versions.'
    throw new OperationError('INVALID_REQUEST', message)
  }
  const isOutsideMeant = meansOutside(input)
  const from = since === undefined ? -Infinity : Date.parse(since)
  const to = until === undefined ? Infinity : Date.parse(until)
  const isBelow = paths === undefined ? () => true : compileBelowRoots(paths, files.roots)
  const named = versions && new Set(versions.map(({ path, hash }) => keyOf(files.resolve(path, 'entry').path, hash)))
  // A hash alone names the change that made the bytes, and not one that gave them another mode.
  const isModeMeant = versions === undefined || [by_agent, of_change_set, since, until].some((one) => one !== undefined)
  const fits = (change: LineageChange) => {
    const { version, path, from: earlier } = change
    return (
      !version.isFirstSight &&
      (isOutsideMeant || version.agentId !== external.agentId) &&
      (named === undefined || (version.hash !== null && named.has(keyOf(path, version.hash)))) &&
      (by_agent === undefined || version.agentId === by_agent || version.agents?.includes(by_agent) === true) &&
      (of_change_set === undefined || version.changeSet === of_change_set) &&
      version.at >= from &&
      version.at <= to &&
      (isBelow(path) || isBelow(earlier)) &&
      (isModeMeant || !isOfMode(change))
    )
  }
  const isMeant = ({ version }: LineageChange) =>
    version.agents === undefined || named !== undefined || input.include_uncertain
  return {
    isChosen: (change) => fits(change) && isMeant(change),
    isUncertain: (change) => fits(change) && !isMeant(change)
  }
}

/** @throws OperationError VERSION_NOT_KEPT for a version that is not known */
export function requireKnown({ versions }: UndoInput, lineages: readonly Lineage[], { files }: OperationContext): void {
  if (versions === undefined) return
  const known = new Set(
    lineages.flatMap(({ changes }) => changes.map(({ path, version }) => keyOf(path, version.hash ?? '')))
  )
  const lost = versions.find(({ path, hash }) => !known.has(keyOf(files.resolve(path, 'entry').path, hash)))
  if (lost === undefined) return
  const message = `No change is known that made ${firstDigits(lost.hash)} of ${lost.path}: it is no longer kept (crud.max_file_versions, crud.max_history_bytes, crud.max_history_age_days), or was there when the file was first read. Nothing was changed. async_history with path ${lost.path} shows the versions that are kept.`
  throw new OperationError('VERSION_NOT_KEPT', message, { path: lost.path })
}

function isOfMode({ before, after, from, path }: LineageChange): boolean {
  return from === path && before.kind === 'file' && after.kind === 'file' && before.hash === after.hash
}

function keyOf(path: string, hash: string): string {
  return `${hash}\n${path}`
}
