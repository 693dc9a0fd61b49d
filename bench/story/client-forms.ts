// How a client's model calls a tool of an MCP server, and what it is shown of the answer: as `npm run bench -- clients` has seen it.

/** Of a tool over MCP. */
export interface ToolResult {
  readonly content: readonly { readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

export interface ToolList {
  readonly tools: readonly { readonly name: string; readonly description?: string; readonly inputSchema: unknown }[]
}

export interface Shown {
  readonly shown: string
  readonly isError: boolean
}

export interface ClientForm {
  /** As it calls itself in the handshake. */
  readonly name: string
  /** Those whose answers are known here. */
  readonly hasNativeTools?: true
  /** @param entry the name of the server in its settings */
  called(entry: string, tool: string): string
  shown(result: ToolResult): Shown
}

const textOf = ({ content }: ToolResult) => content.map(({ text = '' }) => text).join('\n')

/** Codex shows what Claude Code shows, and Gemini CLI what opencode shows, errors apart. */
export const clientForms: readonly [claude: ClientForm, opencode: ClientForm] = [
  {
    name: 'claude-code',
    hasNativeTools: true,
    called: (entry, tool) => `mcp__${entry}__${tool}`,
    shown(result) {
      const { structuredContent, isError = false } = result
      return {
        shown: structuredContent === undefined || isError ? textOf(result) : JSON.stringify(structuredContent),
        isError
      }
    }
  },
  {
    name: 'opencode',
    called: (entry, tool) => `${entry}_${tool}`,
    shown: (result) => ({ shown: textOf(result), isError: result.isError ?? false })
  }
]

/** Of each tool what every client shows its model: name, description and input. */
export function listShown({ tools }: ToolList): string {
  return JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })))
}
