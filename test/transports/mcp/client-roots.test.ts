// Over standard input, without a named folder, the folders are served that the client offers.
import { mkdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { programPath } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

interface Meeting {
  readonly cwd: string
  readonly environment?: Record<string, string>
  /** Undefined for a client without roots; a function that never resolves for one that does not say them. */
  readonly roots?: (() => Promise<readonly string[]>) | undefined
}

const capabilities = { roots: {} }
const toRoots = (paths: readonly string[]) => ({ roots: paths.map((path) => ({ uri: pathToFileURL(path).href })) })

function parametersOf(t: Test, { cwd, environment }: Meeting) {
  const home = makeTree(t).root
  const env = { HOME: home, PATH: process.env['PATH'] ?? '', ASYNC_CRUD_MCP_CONFIG: '', ...environment }
  return { command: process.execPath, args: [programPath, '--stdio'], cwd, env, stderr: 'ignore' as const }
}

interface Watched {
  onerror?: ((error: Error) => void) | undefined
  close: () => Promise<void>
}

/** @returns messages, such as of an answer that it has got already */
function errorsOf(t: Test, client: Watched): readonly string[] {
  const errors: string[] = []
  client.onerror = ({ message }) => errors.push(message)
  t.teardown(() => client.close())
  return errors
}

const clients = {
  async '1.x'(t: Test, meeting: Meeting) {
    const { roots } = meeting
    const client = new LegacyClient({ name: 'legacy', version: '1' }, { capabilities: roots ? capabilities : {} })
    if (roots) client.setRequestHandler(ListRootsRequestSchema, async () => toRoots(await roots()))
    const errors = errorsOf(t, client)
    await client.connect(new LegacyStdio(parametersOf(t, meeting)))
    const call = async (name: string, input: object) =>
      (await client.callTool({ name, arguments: { ...input } })).structuredContent as Answer
    return { call, errors }
  },
  async '2.x'(t: Test, meeting: Meeting) {
    const { roots } = meeting
    const client = new ModernClient(
      { name: 'modern', version: '1' },
      { capabilities: roots ? capabilities : {}, versionNegotiation: { mode: 'legacy' } }
    )
    if (roots) client.setRequestHandler('roots/list', async () => toRoots(await roots()))
    const errors = errorsOf(t, client)
    await client.connect(new ModernStdio(parametersOf(t, meeting)))
    const call = async (name: string, input: object) =>
      (await client.callTool({ name, arguments: { ...input } })).structuredContent as Answer
    return { call, errors }
  }
}

function twoFolders(t: Test): Tree {
  return makeTree(t, { 'app/f': 'of the app\n', 'lib/f': 'of the library\n', 'called/f': 'of the caller\n' })
}

for (const [line, meet] of Object.entries(clients))
  t.test(`client ${line}: its roots are served, in its order, and its calls wait for them`, async (t) => {
    const tree = twoFolders(t)
    const roots = async () => [tree.path('app'), tree.path('lib')]
    const { call, errors } = await meet(t, { cwd: tree.path('called'), roots })
    t.match(await call('async_read', { path: 'f' }), { content: 'of the app\n' })
    t.match(await call('async_append', { path: tree.path('lib/f'), content: 'more\n' }), { status: 'ok' })
    t.equal(tree.read('lib/f'), 'of the library\nmore\n')
    t.match(await call('async_read', { path: tree.path('called/f') }), { error_code: 'PATH_OUTSIDE_BASE' })
    t.strictSame(errors, [], 'no answer comes twice')
  })

t.test(
  'without roots, with none, with none in time, or not asked, the folder is served that it was called from',
  async (t) => {
    const tree = twoFolders(t)
    const never = () => new Promise<readonly string[]>(() => {})
    const meetings: readonly [title: string, meeting: Omit<Meeting, 'cwd'>][] = [
      ['no roots', {}],
      ['an empty list', { roots: async () => [] }],
      ['no answer', { roots: never, environment: { ASYNC_CRUD_MCP_MCP__ROOTS_SECONDS: '0.05' } }],
      ['not asked', { roots: async () => [tree.path('app')], environment: { ASYNC_CRUD_MCP_MCP__ROOTS_SECONDS: '0' } }]
    ]
    for (const [title, meeting] of meetings) {
      const { call } = await clients['1.x'](t, { ...meeting, cwd: tree.path('called') })
      t.match(await call('async_read', { path: 'f' }), { content: 'of the caller\n' }, title)
    }
  }
)

t.test('a named folder is served whatever the client offers, and a home folder as a root is refused', async (t) => {
  const tree = twoFolders(t)
  const { call } = await clients['1.x'](t, {
    cwd: tree.path('called'),
    roots: async () => [tree.path('app')],
    environment: { ASYNC_CRUD_MCP_CRUD__BASE_DIRECTORIES: JSON.stringify([tree.path('lib')]) }
  })
  t.match(await call('async_read', { path: 'f' }), { content: 'of the library\n' })
  const home = tree.path('home')
  mkdirSync(home)
  const refused = clients['1.x'](t, {
    cwd: tree.path('called'),
    roots: async () => [home],
    environment: { HOME: home, USERPROFILE: home }
  }).then(({ call }) => call('async_read', { path: 'f' }))
  await t.rejects(refused, /closed/i)
})
