// The packages that serve MCP.
import { assertInstalled } from '../lazy.ts'

/** To be called before what imports them is loaded. @throws Error with the code ERR_MODULE_NOT_FOUND */
export function assertMcpInstalled(): void {
  assertInstalled('@modelcontextprotocol/server')
  assertInstalled('@modelcontextprotocol/node')
}
