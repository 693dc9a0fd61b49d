// Says of a file that is not there who has moved or deleted it, and how it is called now, so that no agent creates it anew by mistake.
import { OperationError, unlessRefused } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { quoteName } from '../../engine/locks/quote.ts'
import { shownPath } from '../../engine/notices/shown-path.ts'
import { toModification } from '../../engine/versions/modification.ts'
import { isSomethingThere, type Version } from '../../engine/versions/version.ts'
import { timestamp } from '../../support/timestamp.ts'

interface Fate {
  /** With which the file has left the path that was asked for. */
  readonly left: Version
  /** Canonical: where it is now; undefined if it was deleted. */
  readonly name: string | undefined
  /** With which it has left its last name, if it was deleted after a rename. */
  readonly end: Version | undefined
}

type Context = Pick<OperationContext, 'files' | 'history'>

/**
 * @param canonicalPath of the file that the error names, as far as known
 * @param operation that did not find it
 * @returns the error with what the history knows
 */
export function explainGone(
  error: unknown,
  canonicalPath: string | undefined,
  operation: string,
  context: Context
): unknown {
  if (!(error instanceof OperationError) || error.code !== 'FILE_NOT_FOUND' || error.details?.['gone'] !== undefined)
    return error
  const { path = '', details, cause } = error
  const fate = canonicalPath === undefined ? undefined : findFate(canonicalPath, context)
  if (fate === undefined) {
    // Neither has any use for a new file.
    if (operation !== 'async_delete' && operation !== 'async_rename') return error
    const message = `File does not exist: ${path}. Look for it with async_list.`
    return new OperationError('FILE_NOT_FOUND', message, { path, details, cause })
  }
  const name = fate.name === undefined ? undefined : nameNow(fate.name, context)
  const gone = { ...toModification(fate.left), ...(name !== undefined && { renamed_to: name }) }
  const message = `File does not exist: ${path}. ${describe(fate, name, operation, context)}`
  return new OperationError('FILE_NOT_FOUND', message, { path, details: { ...details, gone }, cause })
}

function describe({ left, name, end }: Fate, shown: string | undefined, operation: string, context: Context): string {
  const first = `${upperFirst(who(left))} ${left.renamedTo === undefined ? wordFor(left) : 'renamed'} it`
  if (shown !== undefined) return `${first} at ${timestamp(left.at)}; it is ${quoteName(shown)} now. Use that name.`
  // Where it went, something that the server has not seen has taken it away.
  if (name !== undefined) return `${first} at ${timestamp(left.at)}, and it is not under its new name either.`
  const isOfFolder = operation === 'read_file' || operation === 'edit_file'
  const advice = isOfFolder
    ? 'If it is needed again, edit_file with create_if_missing: true creates it.'
    : 'If it is needed again, async_restore without expected_hash brings it back.'
  if (end === undefined) return `${first} at ${timestamp(left.at)}. ${advice}`
  const then = `${who(end)} ${wordFor(end)} that at ${timestamp(end.at)}`
  const to = quoteName(shownPath(left.renamedTo ?? '', context.files))
  return `${first} to ${to} at ${timestamp(left.at)}, and ${then}.`
}

function wordFor({ agentId }: Version): string {
  return agentId === 'external' ? 'removed' : 'deleted'
}

/** Follows the file from name to name; undefined if the history does not know that it has left. */
function findFate(path: string, { history }: Context): Fate | undefined {
  const left = history.last(path)
  if (left === undefined || isSomethingThere(left)) return undefined
  let here = path
  let gone = left
  // It ends: each step is one of a later version.
  while (gone.renamedTo !== undefined) {
    const next = leavesAfter(gone, here, history)
    here = gone.renamedTo
    if (next === undefined) return { left, name: here, end: undefined }
    gone = next
  }
  return { left, name: undefined, end: gone === left ? undefined : gone }
}

/** The version with which the file that came to a new name has left that, too; other files may have had that name before and after. */
function leavesAfter({ seq, renamedTo = '' }: Version, from: string, history: Context['history']): Version | undefined {
  const versions = history.versions(renamedTo)
  const distance = ({ renamedFrom, seq: other }: Version) => (renamedFrom === from ? Math.abs(other - seq) : Infinity)
  const least = Math.min(...versions.map(distance))
  // If the history has forgotten how it came there, all that it knows is later.
  const arrival = least === Infinity ? -1 : versions.findIndex((version) => distance(version) === least)
  return versions.slice(arrival + 1).find((version) => version.seq > seq && !isSomethingThere(version))
}

/** Undefined if nothing is there, or the caller may not see it. */
function nameNow(path: string, { files }: Context): string | undefined {
  return unlessRefused(() => {
    const place = files.open(path, 'entry')
    place.close()
    return place.stat && shownPath(path, files)
  })
}

function who({ agentId }: Version): string {
  return agentId === 'external' ? 'someone outside the server' : quoteName(agentId)
}

/** Only of the words: the name of an agent stays as it is. */
function upperFirst(text: string): string {
  return text.startsWith('someone ') ? text.replace('s', 'S') : text
}
