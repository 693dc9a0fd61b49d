// The operations that MCP clients are offered as tools: those that `mcp.tools` names.
import { toolsNamed } from '../../../schemas/tool-sets.ts'
import type { Config } from '../../config/config.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { agentOperations } from '../../operations/index.ts'

export interface ToolOperation extends Operation {
  /** By which the form of its answers is chosen. */
  readonly settings: Config['mcp']
}

/** In the order of the registry. */
export function offeredTools(settings: Config['mcp']): readonly ToolOperation[] {
  const named = toolsNamed(settings.tools)
  return agentOperations.filter(({ name }) => named.has(name)).map((operation) => ({ ...operation, settings }))
}
