// The launcher: a file that a team commits, which starts this program from an installation on whichever machine it runs. It downloads
// nothing, since a name that is looked up over the network belongs to the first who registers it.
import { createHash } from 'node:crypto'

const body = String.raw`// Starts async-crud-mcp for this project from an installation on this machine, and downloads nothing. The files of MCP clients
// and hooks in this project name it, so that they name no path of one machine. "async-crud-mcp setup <client> --project <folder>"
// wrote it; commit it with them. The first installation counts that is found in this order:
// 1. the folder that the environment variable ASYNC_CRUD_MCP_HOME names,
// 2. node_modules of this project and of the folders above it,
// 3. the installation that has run "async-crud-mcp setup" on this machine,
// 4. the command async-crud-mcp of a global installation.
'use strict'
const { existsSync, readFileSync, realpathSync } = require('node:fs')
const { homedir } = require('node:os')
const { delimiter, dirname, isAbsolute, join, relative, resolve } = require('node:path')

const { env, platform } = process
const args = process.argv.slice(2)
const project = dirname(__dirname)
const advice =
  'Get one: clone https://github.com/async-crud-mcp/async-crud-mcp and run "npm start -- setup <client> --project <this project>" there ' +
  'once, or set ASYNC_CRUD_MCP_HOME to the folder of an installation'

const main = find()
if (main !== undefined) {
  const isServer = args[0] === undefined || args[0].startsWith('-') || args[0] === 'serve'
  process.argv = [process.argv[0], main, ...(isServer ? ofServer() : args)]
  // Where a line given to Node has found this launcher, that line is no flag of the program.
  const line = process.execArgv.indexOf('-e')
  if (line !== -1) process.execArgv.splice(line, 2)
  require(main)
}

/** A server has the project as its root, and folders are those of the project, since clients start it in any folder below. */
function ofServer() {
  const words = args.map((word, at) => (args[at - 1] === '--dir' ? resolve(project, word) : word))
  if (!words.some((word) => /^--dir(?:=|$)/.test(word))) words.push('--dir', project)
  const at = words.indexOf('beside')
  if (at > 0 && words[at - 1] === '--tools' && isBelow()) words.splice(at - 1, 2)
  return words
}

/** Claude Code in a folder below takes the entry of the project and none of its hooks: then its own tools are not safe. */
function isBelow() {
  try {
    return env.CLAUDE_PROJECT_DIR !== undefined && relative(project, realpathSync(env.CLAUDE_PROJECT_DIR)) !== ''
  } catch {
    return false
  }
}

function find() {
  const named = env.ASYNC_CRUD_MCP_HOME
  if (named) return mainOf(named) || fail('ASYNC_CRUD_MCP_HOME is ' + named + ', which has no built async-crud-mcp. Correct it')
  for (const folder of candidates()) {
    const found = mainOf(folder)
    if (found !== undefined) return found
  }
  return fail('no installation of async-crud-mcp was found on this machine. ' + advice)
}

function* candidates() {
  for (let folder = project, last; folder !== last; last = folder, folder = dirname(folder))
    yield join(folder, 'node_modules', 'async-crud-mcp')
  yield recorded()
  // A relative folder of PATH would be one of whatever project this runs in.
  for (const folder of (env.PATH || env.Path || '').split(delimiter).filter((each) => isAbsolute(each)))
    yield platform === 'win32' ? join(folder, 'node_modules', 'async-crud-mcp') : packageOf(join(folder, 'async-crud-mcp'))
}

/** The program of the package in a folder, if it is this package, and built. */
function mainOf(folder) {
  try {
    const { name, mcpName, bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const main = join(folder, 'dist', 'main.cjs')
    const isThis = name === 'async-crud-mcp' && mcpName === 'io.github.async-crud-mcp/async-crud-mcp'
    return isThis && bin['async-crud-mcp'] === 'dist/main.cjs' && existsSync(main) ? main : undefined
  } catch {
    return undefined
  }
}

/** What setup has written down on this machine. */
function recorded() {
  const home = homedir()
  const data =
    platform === 'win32'
      ? join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'async-crud-mcp', 'Data')
      : platform === 'darwin'
        ? join(home, 'Library', 'Application Support', 'async-crud-mcp')
        : join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'async-crud-mcp')
  try {
    const { program } = JSON.parse(readFileSync(join(data, 'installed.json'), 'utf8'))
    return typeof program === 'string' ? dirname(dirname(program)) : ''
  } catch {
    return ''
  }
}

function packageOf(command) {
  try {
    return dirname(dirname(realpathSync(command)))
  } catch {
    return ''
  }
}

/** Without an installation a server fails, and a hook lets the tool go on, unless the operator wants it closed. */
function fail(reason) {
  const [command] = args
  const isHook = command === 'hook' || command === 'guard'
  const closed = command === 'hook' ? env.ASYNC_CRUD_MCP_HOOK_CLOSED : env.ASYNC_CRUD_MCP_GUARD_CLOSED
  const isClosed = isHook && (args.includes('--closed') || /^(?:1|true|yes|on)$/i.test(closed || ''))
  const message = 'async-crud-mcp: ' + reason + '.'
  if (!isClosed) {
    process.stderr.write(message + (isHook ? ' The tool goes on unchecked.' : '') + '\n')
    process.exitCode = isHook ? 0 : 1
    return undefined
  }
  // Only what comes before a tool can refuse it.
  let event = ''
  const answer = () => {
    const isBefore = /"(?:hook_event_name|event)"\s*:\s*"(?:PreToolUse|BeforeTool|preToolUse|tool\.execute\.before)"/.test(event)
    const refusal = message + ' The tool was not run, because this hook is closed.'
    process.stderr.write((isBefore ? refusal : message) + '\n')
    if (isBefore && args.includes('opencode')) process.stdout.write(JSON.stringify({ refusal }) + '\n')
    process.exitCode = isBefore ? 2 : 0
    clearTimeout(late)
    process.stdin.destroy()
  }
  const late = setTimeout(answer, 300)
  process.stdin.on('data', (chunk) => (event += chunk))
  process.stdin.on('end', answer)
  return undefined
}
`

/** Read again by a later version, to tell a launcher that has been edited from one that an earlier version wrote. */
const firstLine = (text: string) =>
  `// SHA-256 of the lines below: ${createHash('sha256').update(text).digest('hex')}\n`

export const launcherText = firstLine(body) + body

/** Whether the launcher is as some version wrote it. Git may have changed its line ends. */
export function isAsWritten(text: string): boolean {
  const lines = withPlainLineEnds(text)
  const end = lines.indexOf('\n') + 1
  return end > 0 && lines.slice(0, end) === firstLine(lines.slice(end))
}

export function withPlainLineEnds(text: string): string {
  return text.replaceAll('\r\n', '\n')
}
