// The operations that MCP clients are offered as tools: those that `mcp.tools` names.
import { toolsNamed } from '../../../schemas/tool-sets.ts'
import type { Config } from '../../config/config.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { agentOperations } from '../../operations/index.ts'
import { createShortener } from './short-hashes.ts'

export interface ToolOperation extends Operation {
  /** By which the form of its answers is chosen. */
  readonly settings: Config['mcp']
  /** Shortens the hashes in its answers, if they are to be short. */
  readonly shorten: ReturnType<typeof createShortener>
}

/** In the order of the registry. */
export function offeredTools(settings: Config['mcp']): readonly ToolOperation[] {
  const named = toolsNamed(settings.tools)
  return agentOperations
    .filter(({ name }) => named.has(name))
    .map((operation) => ({
      ...operation,
      settings,
      shorten: settings.hashes === 'short' ? createShortener(operation) : (answer) => answer
    }))
}
