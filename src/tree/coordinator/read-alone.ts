// While etcd cannot say which host serves the tree: files are read from the disk all the same, and the answer says so.
import type { Notice } from '../../../schemas/notices.ts'
import { isOperationError } from '../../errors.ts'
import type { CarryCall, OperationResult } from '../../engine/call/context.ts'
import { timestamp } from '../../support/timestamp.ts'

/** In the details of the error that no host serves the tree. */
export const noAuthorityDetail = { no_authority: true } as const

/**
 * @param call asks the authority
 * @param callHere asks the engine of this process, which knows of no lease and no change of others
 */
export function withReadsAlone(call: CarryCall, callHere: CarryCall): CarryCall {
  return async (operation, input, options) => {
    try {
      return await call(operation, input, options)
    } catch (error) {
      const isUnserved = isOperationError(error, 'OVERLOADED') && error.details?.['no_authority'] === true
      // Without room for the notice the answer would look like any other.
      if (!isUnserved || operation.readsDisk !== true || options.caller.takesNotices === false) throw error
      return mark(await callHere(operation, input, options), input)
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
