// Real MCP clients without an account: each in a home folder of its own, with a stand-in for its model, and one MCP server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { Owner } from '../owner.ts'

export interface RealClient {
  readonly command: string
  /** Its package at npm. */
  readonly package: string
  /** Writes its settings, and says how it is called to do one task. */
  prepare(start: Start): { readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> }
}

interface Start {
  readonly home: string
  readonly modelUrl: string
  readonly server: readonly [string, ...string[]]
  /** The folder that it is started in; one of its own by default. */
  readonly work?: string
}

/** The name under which the clients know the server. */
const name = 'probe'

export const claude: RealClient = {
  command: 'claude',
  package: '@anthropic-ai/claude-code',
  prepare({ home, modelUrl, server: [command, ...args] }) {
    const config = write(home, 'mcp.json', { mcpServers: { [name]: { command, args } } })
    return {
      args: ['-p', 'go', '--mcp-config', config, '--strict-mcp-config', '--allowedTools', `mcp__${name}`],
      env: claudeEnvironment(modelUrl)
    }
  }
}

/** Without an account, and without anything that is not its work. */
export function claudeEnvironment(modelUrl: string): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    ENABLE_TOOL_SEARCH: 'false'
  }
}

const codex: RealClient = {
  command: 'codex',
  package: '@openai/codex',
  prepare({ home, modelUrl, server: [command, ...args] }) {
    write(
      home,
      '.codex/config.toml',
      `model = "gpt-5"
model_provider = "stand-in"
[model_providers.stand-in]
name = "stand-in"
base_url = "${modelUrl}/v1"
wire_api = "responses"
[mcp_servers.${name}]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
`
    )
    return { args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'go'] }
  }
}

const gemini: RealClient = {
  command: 'gemini',
  package: '@google/gemini-cli',
  prepare({ home, modelUrl, server: [command, ...args] }) {
    write(home, '.gemini/settings.json', {
      security: { auth: { selectedType: 'gemini-api-key' } },
      mcpServers: { [name]: { command, args } }
    })
    return {
      args: ['-p', 'go', '--model', 'gemini-2.5-flash', '--approval-mode', 'yolo'],
      env: { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
    }
  }
}

const opencode: RealClient = {
  command: 'opencode',
  package: 'opencode-ai',
  prepare({ home, modelUrl, server }) {
    const options = { baseURL: `${modelUrl}/v1`, apiKey: 'none' }
    const provider = {
      standin: { npm: '@ai-sdk/openai-compatible', name: 's', options, models: { m: { name: 'm', tool_call: true } } }
    }
    const settings = { autoupdate: false, share: 'disabled', model: 'standin/m', provider }
    const mcp = { [name]: { type: 'local', command: server, enabled: true } }
    write(home, '.config/opencode/opencode.json', { ...settings, mcp })
    return { args: ['run', 'go'] }
  }
}

export const realClients: readonly RealClient[] = [claude, codex, gemini, opencode]

/** The first program of that name in folders as PATH lists them. */
export function findProgram(command: string, folders: string): string | undefined {
  return folders
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, command))
    .find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Runs a client through one task. @returns all that it has said */
export async function runClient(
  owner: Owner,
  client: RealClient,
  program: string,
  given: Omit<Start, 'home'>
): Promise<string> {
  const { root: home } = makeTree(owner)
  const { work = join(home, 'work') } = given
  mkdirSync(work, { recursive: true })
  const { args, env } = client.prepare({ home, ...given })
  return output(owner, program, args, work, { HOME: home, IS_SANDBOX: '1', ...env })
}

export async function versionOf(owner: Owner, program: string): Promise<string> {
  const { root: home } = makeTree(owner)
  const said = await output(owner, program, ['--version'], home, { HOME: home })
  return /\d+\.\d+\.\d+/.exec(said)?.[0] ?? said.trim()
}

/** Longer than the slowest takes for its first start. */
const patienceMs = 180_000

async function output(
  owner: Owner,
  program: string,
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>>
): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', ...more }
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: patienceMs })
  owner.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await once(child, 'close')
  return said
}

/** @returns where the file is */
function write(home: string, file: string, content: string | object): string {
  const path = join(home, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
