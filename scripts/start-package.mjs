// Starts a package by the command of its own manifest, as its client does, calls a tool, and runs its hooks, which find that server.
// usage: node scripts/start-package.mjs <claude-code | gemini | mcpb> <folder of the package>
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [kind, given] = process.argv.slice(2)
const folder = resolve(given)
const workspace = mkdtempSync(join(tmpdir(), 'async-crud-mcp-workspace-'))

/** For each client: where the manifest has the command, and what the client puts in place of its variables. */
const clients = {
  'claude-code': {
    manifest: '.mcp.json',
    entryOf: ({ mcpServers }) => Object.values(mcpServers)[0],
    variables: { CLAUDE_PLUGIN_ROOT: folder, CLAUDE_PROJECT_DIR: workspace }
  },
  gemini: {
    manifest: 'gemini-extension.json',
    entryOf: ({ mcpServers }) => Object.values(mcpServers)[0],
    variables: { extensionPath: folder, workspacePath: workspace, '/': sep }
  },
  mcpb: {
    manifest: 'manifest.json',
    entryOf: ({ server }) => server.mcp_config,
    variables: { __dirname: folder, 'user_config.folder': workspace, '/': sep }
  }
}
const { manifest, entryOf, variables } = clients[kind]
const hooks = 'hooks/hooks.json'

try {
  writeFileSync(join(workspace, 'f'), 'one\n')
  const client = await start(entryOf(read(manifest)))
  if (existsSync(join(folder, hooks))) for (const command of commandsOf(read(hooks))) runHook(command)
  await client.close()
} finally {
  rmSync(workspace, { recursive: true, force: true, maxRetries: 5 })
}

/** @returns the client of a server that has answered */
async function start({ command, args, env }) {
  const client = new Client({ name: kind, version: '1' })
  const parameters = { command: fill(command), args: args.map(fill), env, cwd: workspace }
  await client.connect(new StdioClientTransport(parameters))
  const { tools } = await client.listTools()
  const { content } = await client.callTool({ name: 'async_status', arguments: { path: 'f' } })
  console.log(`${kind}: ${tools.length} tools; async_status of a file: ${content[0].text}`)
  if (JSON.parse(content[0].text).exists !== true) throw new Error(`${manifest}: the server serves another folder`)
  return client
}

function runHook(command) {
  const input = JSON.stringify({ session_id: 's', cwd: workspace, hook_event_name: 'SessionEnd' })
  const { status, stderr } = spawnSync(fill(command), { input, cwd: workspace, shell: true, encoding: 'utf8' })
  console.log(`${kind}: ${command}`)
  if (status !== 0 || stderr !== '') throw new Error(`a hook ended with ${status}: ${stderr}`)
}

function commandsOf({ hooks }) {
  const commands = Object.values(hooks).flatMap((groups) => groups.flatMap(({ hooks }) => hooks))
  return new Set(commands.map(({ command }) => command))
}

function read(path) {
  return JSON.parse(readFileSync(join(folder, path), 'utf8'))
}

/** `${NAME}`, and `${NAME:-default}` of Claude Code. */
function fill(text) {
  return text.replaceAll(/\$\{([^}:]+)(?::-([^}]*))?\}/g, (_, name, otherwise) => {
    const value = variables[name] ?? otherwise
    if (value === undefined) throw new Error(`${manifest}: ${kind} knows no variable ${name}`)
    return value
  })
}
