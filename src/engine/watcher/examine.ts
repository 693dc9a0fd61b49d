// The look that counts: by content, and without the lock. What nobody here has made is recorded as a change from outside.
import type { ErrorCode } from '../../../schemas/errors.ts'
import { OperationError } from '../../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import type { OpenEntry } from '../files/walk.ts'
import { beginGlance, type ObservationParts } from '../versions/observed-version.ts'

export interface ExamineParts extends ObservationParts {
  readonly files: FileStore
}

/**
 * `busy`: somebody changes the file; to be tried again. `unreadable`: too large, no right to read it, the root is gone; whoever uses the
 * file is told.
 */
export type Examination = 'done' | 'busy' | 'unreadable'

/** What leads there is a file now, or a link out of the roots: no file of ours stands at the path. */
const goneCodes = new Set<ErrorCode>(['NOT_A_FILE', 'PATH_OUTSIDE_BASE'])

/**
 * Nobody ever waits for this look: it takes no lock, and sees nothing in what an operation is changing, which compares the content itself.
 * @param isBulk asked when a change is recorded
 */
export async function examine(path: string, isBulk: () => boolean, parts: ExamineParts): Promise<Examination> {
  const { files, history } = parts
  const glance = beginGlance(path, parts)
  if (!glance.isSound) return 'busy'
  let place: OpenEntry | undefined
  try {
    place = files.open(path, 'entry')
    if (place.path !== path || place.stat?.isFile() !== true) {
      history.recordGone(path, { isBulk: isBulk() })
      return 'done'
    }
    const version = await files.read(place, path)
    const isSound = glance.isSound
    glance.record(version, isBulk())
    return isSound ? 'done' : 'busy'
  } catch (error) {
    const outcome = glance.isSound ? outcomeOf(error) : 'busy'
    if (outcome !== 'gone') return outcome
    history.recordGone(path, { isBulk: isBulk() })
    return 'done'
  } finally {
    place?.close()
  }
}

function outcomeOf(error: unknown): Examination | 'gone' {
  if (!(error instanceof OperationError)) throw error
  if (goneCodes.has(error.code)) return 'gone'
  // It went, or was replaced, in this very moment: the next look sees what has come of it.
  return error.code === 'FILE_NOT_FOUND' ? 'busy' : 'unreadable'
}
