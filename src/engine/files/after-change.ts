// What comes after a change is in the tree: nothing of it takes the change back, and what fails is told as doubt about a change that was made.
import { OperationError } from '../../errors.ts'
import type { FileIdentity } from './identity.ts'

/** A change that is in the tree. The operation records it first, and only then throws what is unsure. */
export interface Made {
  /** Undefined where no file stands at the name now, and where the system would not say which. */
  readonly identity: FileIdentity | undefined
  readonly unsure: OperationError | undefined
}

/** What a step that failed leaves open. */
interface Doubt {
  /** After "The change was made, but". */
  readonly message: string
  /** Beside `applied: true`. */
  readonly details: Readonly<Record<string, unknown>>
}

export const notDurable: Doubt = {
  message: 'the system could not make it durable: a power loss may undo it, so check the disk',
  details: { durable: false }
}

export const notLookedAt: Doubt = {
  message: 'the system could not show the file afterwards, so read it',
  details: {}
}

export type AfterChange = ReturnType<typeof createAfterChange>

/** The steps after one change. A doubt noted before the change counts as one too, and is told only if the change is made. */
export function createAfterChange() {
  const doubts: (Doubt & { readonly cause: unknown })[] = []

  const note = (doubt: Doubt, cause: unknown) => void doubts.push({ ...doubt, cause })

  return {
    note,
    /** @returns undefined where the step fails */
    attempt<Result>(step: () => Result, doubt: Doubt): Result | undefined {
      try {
        return step()
      } catch (error) {
        note(doubt, error)
        return undefined
      }
    },
    get isSure(): boolean {
      return doubts.length === 0
    },
    /** @param hashOf gives the hash of what is there now; asked for only where something is unsure */
    toError(code: 'WRITE_ERROR' | 'DELETE_ERROR' | 'RENAME_ERROR', path: string, hashOf: () => string | undefined) {
      if (doubts.length === 0) return undefined
      const hash = hashOf()
      const details = Object.assign(
        { applied: true, ...(hash !== undefined && { hash }) },
        ...doubts.map((doubt) => doubt.details)
      )
      const message = `${path}: the change was made, but ${doubts.map((doubt) => doubt.message).join('; and ')}. Do not send it again.`
      return new OperationError(code, message, { path, details, cause: doubts[0]?.cause })
    }
  }
}
