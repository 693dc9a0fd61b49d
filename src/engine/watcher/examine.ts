// Examines the content of a file, without the lock. A version that no operation made is recorded as an external change.
import type { ErrorCode } from '../../../schemas/errors.ts'
import { OperationError } from '../../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import type { FileVersion } from '../files/read-file.ts'
import type { OpenEntry } from '../files/walk.ts'
import { linkAt } from '../versions/link-at.ts'
import { nothing } from '../versions/made-step.ts'
import { beginGlance, type ObservationParts } from '../versions/observed-version.ts'

export interface ExamineParts extends ObservationParts {
  readonly files: FileStore
}

/**
 * `busy`: an operation changes the file; try again. `unreadable`: too large, no right to read it, or the root is gone; the next
 * operation on the file reports that.
 */
export type Examination = 'done' | 'busy' | 'unreadable'

/** A program that has emptied a file has so long to write to it. */
const emptyMs = 1000

/** A folder on the way is a file now, or a link out of the roots: no file below the roots is at the path. */
const goneCodes = new Set<ErrorCode>(['NOT_A_FILE', 'PATH_OUTSIDE_BASE'])

/**
 * No operation waits for this: it takes no lock, and ignores a file that an operation is changing, which compares the content itself.
 * @param isBulk asked when a change is recorded
 * @param isPatient a file that has just been emptied is `busy`: who writes a file anew empties it first, and that is no version
 */
export async function examine(
  path: string,
  isBulk: () => boolean,
  parts: ExamineParts,
  isPatient = false
): Promise<Examination> {
  const { files, history } = parts
  const glance = beginGlance(path, parts)
  if (!glance.isSound) return 'busy'
  let place: OpenEntry | undefined
  try {
    place = files.open(path, 'entry')
    if (place.path !== path || place.stat?.isFile() !== true) {
      const now = place.path === path && place.stat?.isSymbolicLink() === true ? linkAt(place) : nothing
      if (now === undefined) return 'busy'
      history.observe(path, now, isBulk())
      return 'done'
    }
    const version = await files.read(place, path)
    if (isPatient && isJustEmptied(version, history.last(path)?.hash)) return 'busy'
    const isSound = glance.isSound
    glance.record(version, isBulk())
    return isSound ? 'done' : 'busy'
  } catch (error) {
    const outcome = glance.isSound ? outcomeOf(error) : 'busy'
    if (outcome !== 'gone') return outcome
    history.observe(path, nothing, isBulk())
    return 'done'
  } finally {
    place?.close()
  }
}

function isJustEmptied({ hash, bytes, identity }: FileVersion, before: string | null | undefined): boolean {
  const ageMs = Date.now() - Number(identity.ctimeNs / 1_000_000n)
  // The clock of the file system may be ahead.
  return bytes.length === 0 && before !== null && before !== hash && Math.abs(ageMs) < emptyMs
}

function outcomeOf(error: unknown): Examination | 'gone' {
  if (!(error instanceof OperationError)) throw error
  if (goneCodes.has(error.code)) return 'gone'
  // It went, or was replaced, at this very moment: the next look sees the result.
  return error.code === 'FILE_NOT_FOUND' ? 'busy' : 'unreadable'
}
