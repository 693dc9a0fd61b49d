// The change set of a call that makes several changes: the one that the caller has named, or one of its own.
import { randomUUID } from 'node:crypto'
import type { OperationContext } from '../../engine/call/context.ts'

export function changeSetOf(context: OperationContext, kind: string): OperationContext {
  const { agentId, changeSet } = context.caller
  if (changeSet !== undefined) return context
  return context.withAgent(agentId, `${kind}-${randomUUID()}`).withReceipt(context.receipt)
}
