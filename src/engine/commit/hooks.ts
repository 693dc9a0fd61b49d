// What a commit asks and tells its caller.
import type { FileIdentity } from '../files/identity.ts'
import type { Intent, NoteAuthor } from './note.ts'

/**
 * `unchanged`: both are names of one file, and both stay. `copied`: the target lies on another file system. `source-left`: copied, but
 * the source could not be removed.
 */
export type RenameOutcome = 'unchanged' | 'renamed' | 'copied' | 'source-left'

export interface CommitHooks extends NoteAuthor {
  /** Throws to refuse; called in the same tick as the change. */
  readonly assertHeld: () => void
  /** Takes note of the change, right before it. @returns called if the change is not made after all, where that cannot be seen later */
  readonly announce?: ((intent: Intent) => () => void) | undefined
  /** True if a rename may end with two names: then one call of the system makes it. */
  readonly mayCopy?: boolean | undefined
  /** Called once the steps are made; for several in the tick of the change, right after it. */
  readonly onMade: (identities: readonly (FileIdentity | undefined)[], outcome?: RenameOutcome) => void
}
