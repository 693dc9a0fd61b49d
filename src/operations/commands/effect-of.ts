// Which files a command line says that it writes.
import type { OperationContext } from '../../engine/call/context.ts'
import { anyEffect, type Effect } from '../../engine/commands/open-command.ts'

export function effectOf(_command: string, _cwd: string, _context: Pick<OperationContext, 'files'>): Effect {
  return anyEffect
}
