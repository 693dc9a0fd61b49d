// Each set-up works as its client would use it: the test reads what setup wrote as the client does, starts or reaches the server so, and changes
// files through it, or by the client's own tools with the hooks around them. From a clone, and from an installation of the package.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { toolsNamed } from '../../../schemas/tool-sets.ts'
import { installed } from '../../../src/support/installation.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { freePorts } from '../../fixtures/free-ports.ts'
import { isFull } from '../../fixtures/length.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { untilServing } from '../../fixtures/until-serving.ts'
import { allHabits, type Habits, type Server, type Start } from './fixtures/client-habits.ts'
import { hookHabits } from './fixtures/hook-habits.ts'
import { editNatively } from './fixtures/native-edit.ts'
import { userOfClone, userOfPackage, type User } from './fixtures/users.ts'

const here = process.platform === 'win32' ? 'PowerShell runs no sh' : false

const sources = { 'a clone': userOfClone, 'the package': userOfPackage }

const offered = (...names: string[]) => [...toolsNamed(names)].sort()
const hasHooks = ({ name }: Habits) => name === 'opencode' || hookHabits[name] !== undefined

/** The client with a set-up that is to be tried. */
interface Case {
  readonly user: User
  readonly habits: Habits
  /** Absolute; its files are those of the project, or the only tree that the files of the user name. */
  readonly app: string
  readonly isProject: boolean
  readonly variables?: Record<string, string>
}

/** The file as the client finds it, and what it makes of that. */
const serverOf = (given: Case, start: Start): Server =>
  given.habits.server(readFileSync(entryFileOf(given), 'utf8'), start)

function entryFileOf({ user: { home }, habits: { userFile, projectFile = '' }, app, isProject }: Case): string {
  return isProject ? join(app, projectFile) : home.path(userFile)
}

/** Programs with a window are started without what a shell has in PATH; a project needs Node there. */
function startIn({ user: { home, variables }, isProject, variables: more = {} }: Case, folder: string): Start {
  const path = isProject ? variables['PATH'] : '/nothing'
  return { home: home.root, folder, variables: { ...variables, ...more, PATH: path ?? '' } }
}

async function connect(server: Server): Promise<{ client: Client; tools: string[] }> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    'url' in server
      ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: { ...server.headers } } })
      : new StdioClientTransport({
          command: server.command,
          args: [...server.args],
          cwd: server.cwd,
          env: { ...server.variables },
          stderr: 'inherit'
        })
  )
  const { tools } = await client.listTools()
  return { client, tools: tools.map(({ name }) => name).sort() }
}

/** Reads and changes a file over MCP. */
async function useOverMcp(t: Test, title: string, server: Server, file: string): Promise<void> {
  const { client, tools } = await connect(server)
  t.same(tools, offered('all'), `${title}: every tool is offered`)
  const call = async (name: string, input: object) =>
    (await client.callTool({ name, arguments: { path: basename(file), ...input } })).structuredContent as Answer
  const { content, hash } = await call('async_read', {})
  t.equal(content, readFileSync(file, 'utf8'), `${title}: it reads`)
  const patches = [{ old_string: 'one', new_string: 'one, over MCP' }]
  t.match(await call('async_update', { expected_hash: hash, patches }), { status: 'ok' }, title)
  t.match(readFileSync(file, 'utf8'), 'one, over MCP', `${title}: it updates`)
  await client.close()
}

/** Changes a file by the client's own tools, while the server that it has started runs. */
async function useBesideHooks(t: Test, title: string, given: Case, start: Start, file: string): Promise<void> {
  const { client, tools } = await connect(serverOf(given, start))
  t.same(tools, offered('beside'), `${title}: what native tools lack is offered`)
  const call = async (name: string) =>
    (await client.callTool({ name, arguments: { path: basename(file) } })).structuredContent as Answer
  t.match(await call('async_status'), { status: 'ok', exists: true }, title)
  const before = readFileSync(file, 'utf8')
  const { agent, said } = await editNatively(given.habits.name, start, given.isProject ? given.app : undefined, file)
  t.notMatch(said, /goes on unchecked|ended with|Error/, `${title}: ${said.join()}`)
  t.not(readFileSync(file, 'utf8'), before)
  t.match((await call('async_history'))['versions'][0], { agent_id: agent, operation: 'native_edit' }, title)
  await client.close()
}

/** The folders from which the client finds the files of the project. An address is the same in all of them. */
function foldersOf(
  { user: { home }, habits: { looksUpwards }, app, isProject }: Case,
  flags: readonly string[]
): string[] {
  if (!isProject) return [home.root]
  return looksUpwards === true && !flags.includes('http') ? [app, join(app, 'sub')] : [app]
}

/** Claude Code takes `.mcp.json` from a folder above, and hooks not. */
const hasHooksIn = ({ habits, app, isProject }: Case, folder: string) =>
  hasHooks(habits) && (habits.name !== 'claude-code' || !isProject || folder === app)

async function tryCase(t: Test, given: Case, flags: readonly string[]): Promise<void> {
  const { user, habits, app, isProject } = given
  const level = isProject ? 'project' : 'user'
  const setup = (...more: string[]) =>
    user.run('setup', habits.name, isProject ? '--project' : '--dir', app, ...flags, ...more)
  t.match(await setup(), { code: 0, stdout: /The (?:entry was started once: it|server) answers/, stderr: '' })
  for (const folder of foldersOf(given, flags)) {
    const title = `${habits.name}, ${level}, in ${basename(folder)}`
    const start = startIn(given, folder)
    const file = join(app, 'a.txt')
    writeFileSync(file, 'one\n')
    if (hasHooksIn(given, folder)) await useBesideHooks(t, title, given, start, file)
    else await useOverMcp(t, title, serverOf(given, start), file)
  }
  if (isProject) checkShared(t, given)
  if (!hasHooks(habits) || !user.isThorough) return
  t.match(await user.run('setup', habits.name, ...(isProject ? ['--project', app] : []), '--remove'), { code: 0 })
  t.notOk(existsSync(entryFileOf(given)), 'a file that setup has made goes with its entry')
  t.match(await setup('--no-hooks', '--no-start'), { code: 0, stderr: '' })
  const file = join(app, 'b.txt')
  writeFileSync(file, 'one\n')
  await useOverMcp(t, `${habits.name}, ${level}, without hooks`, serverOf(given, startIn(given, app)), file)
}

/** What a team commits names nothing of one machine, and nothing that a network resolves. */
function checkShared(t: Test, { user: { home }, app }: Case): void {
  const files = readdirSync(app, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^\.?\w.*\.(?:c?js|json|toml)$/.test(name)
  )
  for (const name of files.filter((name) => !name.startsWith('.async-crud-mcp'))) {
    const text = readFileSync(join(app, name), 'utf8')
    t.notMatch(text, /\bnpx\b|registry/, name)
    for (const path of [home.root, installed(''), process.execPath]) t.notOk(text.includes(path), `${name}: no ${path}`)
  }
}

function makeApp({ home }: User, name: string): string {
  mkdirSync(home.path(`${name}/sub`), { recursive: true })
  return home.path(name)
}

/**
 * Each client with the files of its user and, if it has some, those of a project. In the short form each of them is tried from one of the two
 * sources and in one of the two ways, the next one from and in the next.
 */
function setUpsOf(turn: number): readonly { readonly habits: Habits; readonly isProject: boolean }[] {
  const all = allHabits.flatMap((habits) =>
    (habits.projectFile === undefined ? [false] : [false, true]).map((isProject) => ({ habits, isProject }))
  )
  return all.filter(({ habits }, index) => {
    const turns = turnsOf(habits)
    return isFull ? turns.includes(turn) : turns[index % turns.length] === turn
  })
}

/** Of the tests below: Claude Desktop reads no address from its file, and Zed no token from its environment, which the last one has. */
function turnsOf({ name }: Habits): readonly number[] {
  if (name === 'claude-desktop') return [0, 1]
  return name === 'zed' ? [0, 1, 2] : [0, 1, 2, 3]
}

for (const [turn, [source, make]] of Object.entries(sources).entries()) {
  t.test(`${source}: each client starts what setup has written, and works through it`, { skip: here }, async (t) => {
    const user = await make(t)
    for (const { habits, isProject } of setUpsOf(turn)) {
      const app = makeApp(user, `${habits.name} ${isProject ? 'project' : 'user'}`)
      await tryCase(t, { user, habits, app, isProject }, [])
    }
  })

  t.test(`${source}: each client reaches a server that runs, and works through it`, { skip: here }, async (t) => {
    const user = await make(t)
    const { token } = user
    const app = makeApp(user, 'served')
    const [port = 0] = await freePorts(1)
    const environment = { ...user.variables, ...(token !== undefined && { ASYNC_CRUD_MCP_DAEMON__TOKEN: token }) }
    const { url } = await startOneProgram(t, ['--dir', app, '--port', String(port)], environment, user.program)
    await untilServing(url, token)
    const flags = ['--transport', 'http', ...(token === undefined ? [] : ['--token-env', 'CRUD_TOKEN'])]
    const variables = token === undefined ? {} : { CRUD_TOKEN: token }
    for (const { habits, isProject } of setUpsOf(turn + 2))
      await tryCase(t, { user, habits, app, isProject, variables }, flags)
  })
}
