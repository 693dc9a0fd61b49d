// The operations that MCP clients are offered as tools: those that `mcp.tools` names.
import { toolsNamed } from '../../../schemas/tool-sets.ts'
import type { Config } from '../../config/config.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { agentOperations } from '../../operations/index.ts'

/** In the order of the registry. */
export function offeredTools(settings: Config['mcp']): readonly Operation[] {
  const named = toolsNamed(settings.tools)
  return agentOperations.filter(({ name }) => named.has(name))
}
