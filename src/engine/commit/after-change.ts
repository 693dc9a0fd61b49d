// The steps after a change is in the tree. None of them takes the change back; a failure is reported as doubt about a change that was made.
import { OperationError } from '../../errors.ts'
import type { FileIdentity } from '../files/identity.ts'

/** A change that is in the tree. The operation records it first, and only then throws the doubt. */
export interface Made {
  /** Undefined if no file has the name now, or the system did not say which. */
  readonly identity: FileIdentity | undefined
  readonly unsure: OperationError | undefined
}

/** What a failed step leaves open. */
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
  message: 'the system could not read the file afterwards, so read it',
  details: {}
}

export type AfterChange = ReturnType<typeof createAfterChange>

/** The steps after one change. A doubt noted before the change counts too, and is reported only if the change is made. */
export function createAfterChange() {
  const doubts: (Doubt & { readonly cause: unknown })[] = []

  const note = (doubt: Doubt, cause: unknown) => void doubts.push({ ...doubt, cause })

  return {
    note,
    /** @returns undefined if the step fails */
    attempt<Result>(step: () => Result, doubt: Doubt): Result | undefined {
      try {
        return step()
      } catch (error) {
        note(doubt, error)
        return undefined
      }
    },
    isSure: (): boolean => doubts.length === 0,
    /** @param hashOf gives the hash of what is there now; called only if there is a doubt */
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
