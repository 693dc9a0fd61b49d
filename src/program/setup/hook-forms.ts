// In which form a client runs hooks around its tools: the cheapest that its version has and that loses nothing, else as a program.
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { attempt } from '../../support/attempt.ts'
import type { ClientName } from './client-names.ts'
import { serverName, type Client, type Launch } from './clients.ts'
import type { Data } from './text-edit.ts'

export type HookForm =
  | { readonly type: 'program' }
  /** A tool of the server that the client has connected to. */
  | { readonly type: 'mcp_tool' }
  | { readonly type: 'http'; readonly url: string; readonly tokenVariable?: string | undefined }

type Version = readonly [major: number, minor: number, patch: number]

/** The first versions in which these forms were tried (docs/decisions/2026-11-25-cheap-hooks.md). An earlier one drops all hooks of a file with a form that it does not know. */
const since: Readonly<
  Partial<Record<ClientName, { readonly command: string; readonly http: Version; readonly mcp_tool: Version }>>
> = { 'claude-code': { command: 'claude', http: [2, 1, 110], mcp_tool: [2, 1, 118] } }

/** The events around tools; the others come once in a prompt or a session, and the last ones when no server is connected any more. */
const toolEvents: readonly string[] = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure']

/** Over HTTP nothing tells a server that waits for a lock from one that hangs: both have so long, in seconds. */
const httpWait = 2
const httpTimeout = 3

/** What the server reads of an event. */
const members = [
  'hook_event_name',
  'session_id',
  'agent_id',
  'cwd',
  'tool_name',
  'tool_input',
  'tool_response',
  'tool_use_id'
]

/**
 * @param project of whose files the hooks are; over HTTP those of a user find the server of each file, as programs only
 * @param environment in whose PATH the client is looked for, and asked for its version
 */
export async function findHookForm(
  client: Client,
  launch: Launch,
  project: string | undefined,
  environment: NodeJS.ProcessEnv
): Promise<HookForm> {
  const known = since[client.name]
  const program: HookForm = { type: 'program' }
  if (known === undefined || environment['ASYNC_CRUD_MCP_HOOK_CLOSED']) return program
  if (launch.transport === 'http' && project === undefined) return program
  const form = launch.transport === 'http' ? 'http' : 'mcp_tool'
  const version = await versionOf(known.command, environment)
  if (version === undefined || isBefore(version, known[form])) return program
  if (launch.transport === 'stdio') return { type: 'mcp_tool' }
  const url = new URL(launch.url)
  url.pathname = url.pathname.replace(/\/?(?:mcp)?\/?$/, `/hooks/${client.name}`)
  url.search = ''
  return { type: 'http', url: url.href, tokenVariable: launch.tokenVariable }
}

/** What members of a team must know whose client is an earlier one; undefined for programs, which every version runs. */
export function describeNeed({ name, title }: Client, { type }: HookForm): string | undefined {
  const version = type === 'program' ? undefined : since[name]?.[type].join('.')
  if (version === undefined) return undefined
  return `The hooks of this project need ${title} ${version} or later on each machine; an earlier one runs none of the file. --program-hooks writes hooks for every version.`
}

/** @param program what the hook is as a program */
export function hookOf(client: ClientName, event: string, form: HookForm, program: Data): Data {
  if (!toolEvents.includes(event)) return program
  switch (form.type) {
    case 'program':
      return program
    case 'mcp_tool': {
      const whole = Object.fromEntries(members.map((member) => [member, `\${${member}}`]))
      const input = { harness: client, event: whole }
      return { type: 'mcp_tool', server: serverName, tool: 'native_hook', input, timeout: program['timeout'] }
    }
    case 'http': {
      const { url, tokenVariable } = form
      const token = tokenVariable !== undefined && { Authorization: `Bearer \${${tokenVariable}}` }
      const headers = { 'x-wait-seconds': String(httpWait), ...token }
      return {
        type: 'http',
        url,
        headers,
        ...(tokenVariable !== undefined && { allowedEnvVars: [tokenVariable] }),
        timeout: httpTimeout
      }
    }
    default:
      return form satisfies never
  }
}

/** Whether a hook asks this server itself, without a program. */
export function isServerHook({ type, url, server, tool }: Data): boolean {
  if (type === 'mcp_tool') return server === serverName && tool === 'native_hook'
  return type === 'http' && typeof url === 'string' && /^https?:\/\/[^/]+\/hooks\/[\w-]+$/.test(url)
}

/** Undefined if the client is not in PATH, or does not say its version. */
async function versionOf(command: string, environment: NodeJS.ProcessEnv): Promise<Version | undefined> {
  const program = findProgram(command, environment)
  if (program === undefined) return undefined
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: 10_000, env: environment })
    const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)\b/.exec(stdout.trim()) ?? []
    return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
  } catch {
    return undefined
  }
}

/** A relative folder of PATH would be one of whatever project this runs in. */
function findProgram(command: string, { PATH, Path }: NodeJS.ProcessEnv): string | undefined {
  const name = process.platform === 'win32' ? `${command}.exe` : command
  const folders = (PATH ?? Path ?? '').split(delimiter).filter((folder) => isAbsolute(folder))
  return folders.map((folder) => join(folder, name)).find((path) => attempt(() => accessSync(path, constants.X_OK)))
}

function isBefore(version: Version, other: Version): boolean {
  const at = version.findIndex((part, index) => part !== other[index])
  return at !== -1 && (version[at] ?? 0) < (other[at] ?? 0)
}
