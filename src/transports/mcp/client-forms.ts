// Which form of an answer a client needs for its model: by what `npm run bench -- clients` has seen real clients do.
import type { Config } from '../../config/config.ts'

/**
 * As clients name themselves in the handshake. Each shows its model a text without structured content exactly as it is. Of an
 * answer with both, Claude Code and Codex drop the text; Gemini CLI and opencode drop the structured content.
 */
const showsTextAsItIs: ReadonlySet<string> = new Set([
  'claude-code',
  'codex-mcp-client',
  'gemini-cli-mcp-client',
  'opencode'
])

export type TextForm = Exclude<Config['mcp']['text'], 'auto'>

/** A program that reads structured content names itself otherwise, or is served with `json`. */
export function textFor({ text, output_schemas }: Config['mcp'], client: ClientInfo | undefined): TextForm {
  if (text !== 'auto') return text
  // A tool that is listed with a schema must answer with structured content.
  return !output_schemas && client !== undefined && showsTextAsItIs.has(client.name) ? 'plain' : 'json'
}

/** A client as it names itself. */
export interface ClientInfo {
  readonly name: string
  readonly version?: unknown
}

/** Its name with its version, for people. */
export function titleOf({ name, version }: ClientInfo): string {
  return typeof version === 'string' ? `${name} ${version}` : name
}

/** What the client says of itself in the `_meta` of the revision of 2026-07-28. */
export function clientIn(meta: Readonly<Record<string, unknown>> | undefined): ClientInfo | undefined {
  const info = meta?.['io.modelcontextprotocol/clientInfo'] as Partial<ClientInfo> | undefined | null
  return typeof info?.name === 'string' ? (info as ClientInfo) : undefined
}
