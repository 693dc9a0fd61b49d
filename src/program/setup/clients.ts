// The MCP clients that can be set up: where each keeps its servers, and what our entry looks like there.
import { posix, win32 } from 'node:path'
import { folderVariables } from '../../support/user-paths.ts'
import type { ClientName } from './client-names.ts'

/** The user whose files are meant. */
export interface UserEnvironment {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

export interface StdioLaunch {
  readonly transport: 'stdio'
  readonly command: string
  readonly args: readonly string[]
}

/** How a client reaches the server. */
export type Launch =
  | StdioLaunch
  | {
      readonly transport: 'http'
      readonly url: string
      /** Environment variable of the client that holds the bearer token; never the token itself. */
      readonly tokenVariable?: string
    }

export interface Client {
  readonly name: ClientName
  readonly title: string
  /** "json" is strict: the client reads no comments. */
  readonly format: 'json' | 'jsonc' | 'toml'
  /** It does not read a file with a byte order mark (docs/clients.md says how this is known). The file of its hooks: `hookSets`. */
  readonly refusesMark?: boolean
  /** The key below which the file lists servers. */
  readonly container: 'mcpServers' | 'servers' | 'mcp_servers' | 'context_servers' | 'mcp'
  /** The file for all projects of this user. */
  userFile(place: UserEnvironment): string
  /** The file of one project, below its folder; undefined if the client has none. */
  readonly projectFile?: readonly string[]
  /** What the client puts in place of the folder of the project. Without one it starts servers there, or in a folder below. */
  readonly projectWord?: string
  /** Any of these exists if the client is in use. */
  traces(place: UserEnvironment): string[]
  /** @throws Error if the client cannot reach a server this way */
  entry(launch: Launch): Record<string, unknown>
}

/** Names the installation that the launcher of a project takes. */
const homeVariable = 'ASYNC_CRUD_MCP_HOME'

/** The name of our entry in every client. */
export const serverName = 'async-crud-mcp'

export const clients: readonly Client[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    format: 'json',
    container: 'mcpServers',
    userFile: (place) => pathOf(place).join(place.environment['CLAUDE_CONFIG_DIR'] || place.home, '.claude.json'),
    projectFile: ['.mcp.json'],
    traces(place) {
      return [this.userFile(place), place.environment['CLAUDE_CONFIG_DIR'] || pathOf(place).join(place.home, '.claude')]
    },
    entry: (launch) => typedEntry(launch, (name) => `\${${name}}`)
  },
  {
    name: 'claude-desktop',
    title: 'Claude Desktop',
    format: 'json',
    refusesMark: true,
    container: 'mcpServers',
    userFile: (place) => pathOf(place).join(applicationFolder(place), 'Claude', 'claude_desktop_config.json'),
    traces: (place) => [pathOf(place).join(applicationFolder(place), 'Claude')],
    entry(launch) {
      if (launch.transport === 'stdio') return { command: launch.command, args: launch.args }
      throw new Error('Claude Desktop starts the servers of its file itself: use --transport stdio')
    }
  },
  {
    name: 'cursor',
    title: 'Cursor',
    format: 'jsonc',
    container: 'mcpServers',
    userFile: (place) => pathOf(place).join(place.home, '.cursor', 'mcp.json'),
    projectFile: ['.cursor', 'mcp.json'],
    projectWord: '${workspaceFolder}',
    traces: (place) => [pathOf(place).join(place.home, '.cursor')],
    entry(launch) {
      const { type, ...entry } = typedEntry(launch, (name) => `\${env:${name}}`)
      return launch.transport === 'stdio' ? { type, ...entry } : entry
    }
  },
  {
    name: 'vscode',
    title: 'VS Code',
    format: 'jsonc',
    container: 'servers',
    userFile: (place) => pathOf(place).join(applicationFolder(place), 'Code', 'User', 'mcp.json'),
    projectFile: ['.vscode', 'mcp.json'],
    projectWord: '${workspaceFolder}',
    traces: (place) => [pathOf(place).join(applicationFolder(place), 'Code', 'User')],
    entry: (launch) => typedEntry(launch, (name) => `\${env:${name}}`)
  },
  {
    name: 'codex',
    title: 'Codex',
    format: 'toml',
    container: 'mcp_servers',
    userFile: (place) => pathOf(place).join(codexFolder(place), 'config.toml'),
    projectFile: ['.codex', 'config.toml'],
    traces: (place) => [codexFolder(place)],
    entry(launch) {
      // It gives a server a few variables of its own choice and those that are named.
      if (launch.transport === 'stdio')
        return { command: launch.command, args: launch.args, env_vars: [homeVariable, ...folderVariables] }
      const { url, tokenVariable } = launch
      return { url, ...(tokenVariable !== undefined && { bearer_token_env_var: tokenVariable }) }
    }
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    format: 'jsonc',
    refusesMark: true,
    container: 'mcpServers',
    userFile: (place) => pathOf(place).join(place.home, '.gemini', 'settings.json'),
    projectFile: ['.gemini', 'settings.json'],
    traces: (place) => [pathOf(place).join(place.home, '.gemini')],
    entry: (launch) => untypedEntry(launch, 'httpUrl', (name) => `$${name}`)
  },
  {
    name: 'windsurf',
    title: 'Windsurf',
    format: 'json',
    refusesMark: true,
    container: 'mcpServers',
    userFile: (place) => pathOf(place).join(place.home, '.codeium', 'windsurf', 'mcp_config.json'),
    traces: (place) => [pathOf(place).join(place.home, '.codeium', 'windsurf')],
    entry: (launch) => untypedEntry(launch, 'serverUrl', (name) => `\${env:${name}}`)
  },
  {
    name: 'zed',
    title: 'Zed',
    format: 'jsonc',
    container: 'context_servers',
    userFile: (place) => pathOf(place).join(zedFolder(place), 'settings.json'),
    projectFile: ['.zed', 'settings.json'],
    traces: (place) => [zedFolder(place)],
    entry(launch) {
      if (launch.transport === 'http' && launch.tokenVariable !== undefined)
        throw new Error('Zed takes no token from its environment: use --transport stdio')
      return untypedEntry(launch, 'url', (name) => name)
    }
  },
  {
    name: 'opencode',
    title: 'opencode',
    format: 'jsonc',
    container: 'mcp',
    userFile: (place) => pathOf(place).join(opencodeFolder(place), 'opencode.json'),
    projectFile: ['opencode.json'],
    traces: (place) => [opencodeFolder(place)],
    entry(launch) {
      if (launch.transport === 'stdio')
        return { type: 'local', command: [launch.command, ...launch.args], enabled: true }
      const { type: _, ...entry } = typedEntry(launch, (name) => `{env:${name}}`)
      return { type: 'remote', ...entry, enabled: true }
    }
  }
]

/** Path functions of the platform that the files are for. */
export function pathOf({ platform }: Pick<UserEnvironment, 'platform'>): typeof posix {
  return platform === 'win32' ? win32 : posix
}

function applicationFolder(place: UserEnvironment): string {
  const { platform, home, environment } = place
  const path = pathOf(place)
  if (platform === 'win32') return environment['APPDATA'] || path.join(home, 'AppData', 'Roaming')
  if (platform === 'darwin') return path.join(home, 'Library', 'Application Support')
  return environment['XDG_CONFIG_HOME'] || path.join(home, '.config')
}

function zedFolder(place: UserEnvironment): string {
  const path = pathOf(place)
  return place.platform === 'win32'
    ? path.join(applicationFolder(place), 'Zed')
    : path.join(place.environment['XDG_CONFIG_HOME'] || path.join(place.home, '.config'), 'zed')
}

/** The same on every system. */
export function opencodeFolder(place: UserEnvironment): string {
  const path = pathOf(place)
  return path.join(place.environment['XDG_CONFIG_HOME'] || path.join(place.home, '.config'), 'opencode')
}

export function codexFolder(place: UserEnvironment): string {
  return place.environment['CODEX_HOME'] || pathOf(place).join(place.home, '.codex')
}

function typedEntry(launch: Launch, reference: (variable: string) => string): Record<string, unknown> {
  if (launch.transport === 'stdio') return { type: 'stdio', command: launch.command, args: launch.args }
  const { url, tokenVariable } = launch
  const headers = tokenVariable !== undefined && { headers: { Authorization: `Bearer ${reference(tokenVariable)}` } }
  return { type: 'http', url, ...headers }
}

/** For clients that tell the transport by the name of the address. */
function untypedEntry(
  launch: Launch,
  addressName: string,
  reference: (variable: string) => string
): Record<string, unknown> {
  if (launch.transport === 'stdio') return { command: launch.command, args: launch.args }
  const { type: _, url, ...entry } = typedEntry(launch, reference)
  return { [addressName]: url, ...entry }
}
