// The operations that MCP clients are offered as tools: those that `mcp.tools` names.
import { toolsNamed } from '../../../schemas/tool-sets.ts'
import type { Config } from '../../config/config.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { agentOperations } from '../../operations/index.ts'

export interface ToolOperation extends Operation {
  /** True if what was read is answered as plain text. */
  readonly isPlain?: boolean
}

/** The operations that read one file. A batch has many contents, which only JSON keeps apart. */
const readers: ReadonlySet<string> = new Set(['async_read', 'read_file'])

/** In the order of the registry. */
export function offeredTools({ tools, text }: Config['mcp']): readonly ToolOperation[] {
  const named = toolsNamed(tools)
  return agentOperations
    .filter(({ name }) => named.has(name))
    .map((operation) => (text === 'plain' && readers.has(operation.name) ? { ...operation, isPlain: true } : operation))
}
