// What a call is answered whose authority has gone before it answered.
import { adviceAfterLoss } from '../../engine/receipts/after-loss.ts'
import { OperationError } from '../../errors.ts'

/**
 * @param operation that was called; undefined if no agent asked for it
 * @param isNamed true if a repeat of the call finds its receipt
 */
export function authorityLost(operation = '', isNamed = false): OperationError {
  const message = 'The process that carried out this call has ended, or does not answer any more.'
  return new OperationError('AUTHORITY_LOST', `${message} ${adviseAfterLoss(operation, isNamed)}`)
}

/** For a call that this process has not begun when another one takes over the tree. */
export function notBegun(): OperationError {
  const message =
    'Another process has taken over this tree, and the process that was called ends. Nothing was done: call again, and the process that serves the tree now answers.'
  return new OperationError('AUTHORITY_LOST', message)
}

function adviseAfterLoss(operation: string, isNamed: boolean): string {
  if (isNamed)
    return 'It is not known whether a change was made: send the very same call again with the same request_id. The change is made once.'
  if (/^lock_(?:try|wait|renew)$/.test(operation))
    return 'It is not known which leases you hold: call lock_status, then call again for those that are missing.'
  if (operation === 'lock_break')
    return 'It is not known whether the leases were ended: call lock_status, and break those that the same agent holds still.'
  if (operation.startsWith('lock_')) return 'It is not known whether it was done: call it again, which does no harm.'
  return `${adviceAfterLoss(operation)} Your leases may be gone: check with lock_status.`
}
