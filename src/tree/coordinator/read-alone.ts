// While etcd cannot say which host serves the tree: files are read from the disk all the same, and the answer says so.
import type { Notice } from '../../../schemas/notices.ts'
import { isOperationError } from '../../errors.ts'
import type { CallOperation, OperationResult } from '../../engine/context.ts'
import { timestamp } from '../../support/timestamp.ts'

/** In the details of the error that no host serves the tree. */
export const noAuthorityDetail = { no_authority: true } as const

/**
 * @param call asks the authority
 * @param callHere asks the engine of this process, which knows of no lease and no change of others
 * @param isReader of operations that only read what is on the disk
 */
export function withReadsAlone(
  call: CallOperation,
  callHere: CallOperation,
  isReader: (operation: string) => boolean
): CallOperation {
  return async (name, input, options) => {
    try {
      return await call(name, input, options)
    } catch (error) {
      const isUnserved = isOperationError(error, 'OVERLOADED') && error.details?.['no_authority'] === true
      // Without room for the notice the answer would look like any other.
      if (!isUnserved || !isReader(name) || options.caller.takesNotices === false) throw error
      return mark(await callHere(name, input, options), input)
    }
  }
}

function mark(result: OperationResult, input: unknown): OperationResult {
  const path = (input as { readonly path?: unknown } | undefined)?.path
  const notice: Notice = {
    type: 'no_authority',
    path: typeof path === 'string' ? path : '.',
    message:
      'etcd does not answer, so no host serves the tree: this is what the disk of this host has. Another host may have changed it meanwhile. Changes and leases are refused until etcd is back; then read again before you change anything.',
    at: timestamp()
  }
  const others = (result['notices'] as readonly Notice[] | undefined) ?? []
  return { ...result, notices: [notice, ...others] }
}
