// The real clients that npm has work through what setup has written, each with a stand-in for its model: npm run clients installs them.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { isFull } from '../../fixtures/length.ts'
import { startModelStandIn, type ToolUse } from '../../fixtures/model-stand-in.ts'
import { findProgram, inSteps, realClients, runClient, type RealClient } from '../../fixtures/real-clients.ts'
import { freePorts } from '../../fixtures/free-ports.ts'
import { post } from '../../fixtures/processes.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { untilServing } from '../../fixtures/until-serving.ts'
import { userOfClone, userOfPackage, type User } from './fixtures/users.ts'

const looksUpwards: readonly string[] = ['claude-code', 'codex', 'opencode']

/** One task of a client with a set-up. */
interface Case {
  readonly client: RealClient
  readonly program: string
  readonly user: User
  /** Of `setup`, in the folder above the project. */
  readonly flags: readonly string[]
  /** In which the client is called; the project, or one below it. */
  readonly below?: string
  readonly variables?: Readonly<Record<string, string>>
}

/**
 * A machine that is busy enough makes a client give up on a server that starts slowly, and a hook on its answer, as they should: then the
 * task is begun anew.
 */
const mostAttempts = 3

/** All tasks together take longer than a file may on a busy machine: it is bounded from the last attempt that began. */
const giveTime = (): void => t.setTimeout(300_000)

interface Task {
  readonly steps: readonly ToolUse[]
  readonly isNative?: boolean
  /** Whether the tools have been reached. @param answers of the tools */
  readonly isReached: (answers: readonly string[]) => boolean | Promise<boolean>
}

/** @returns what the model was shown by its tools, and all that the client has said */
async function work(t: Test, given: Case, { steps, isNative = false, isReached }: Task) {
  const { client, program, user, flags, below = '', variables } = given
  const { home } = user
  const project = home.path('app')
  const { script, answers } = inSteps(client, steps)
  const { url: modelUrl } = await startModelStandIn(t, script)
  const task = client.prepare({ home: home.root, project, modelUrl, isNative })
  const done = await user.run('setup', client.name, ...flags)
  t.match(done, { code: 0, stdout: /answers/, stderr: '' }, `${client.command}: ${flags.join(' ')}`)
  const PATH = [user.variables['PATH'], '/usr/bin', '/bin'].join(delimiter)
  const folder = join(project, below)
  const all = { ...user.variables, ...variables, PATH }
  let said = ''
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    giveTime()
    said = await runClient(t, program, task, { folder, variables: all })
    if (await isReached(answers)) break
  }
  return { answers, said }
}

/** Reads a file and appends to it, over MCP. */
async function workOverMcp(t: Test, given: Case): Promise<void> {
  const steps = [
    { tool: 'async_read', input: { path: 'a.txt' } },
    { tool: 'async_append', input: { path: 'a.txt', content: 'two\n' } }
  ]
  const { answers, said } = await work(t, given, { steps, isReached: ({ length }) => length === steps.length })
  t.match(answers, [/one/, /"status":"ok"/], said)
  t.equal(readFileSync(given.user.home.path('app/a.txt'), 'utf8'), 'one\ntwo\n', said)
}

/**
 * Writes a file by the client's own tool, changes another by its shell, and would take somebody's lines back: beside another process on
 * the tree, which is told by the hooks and refuses the last.
 */
async function workBesideHooks(t: Test, given: Case): Promise<void> {
  const { client, user } = given
  const file = user.home.path('app/new.txt')
  // Node, which is all that PATH has, and Git.
  symlinkSync(findProgram('git', process.env['PATH']) ?? '', user.home.path('bin/git'))
  const url = await serve(t, user)
  const appendAsAnn = () => post(url, 'async_append', { path: 'b.txt', content: 'of ann\n', agent_id: 'ann' })
  await appendAsAnn()
  const newest = async (path: string) => ((await post(url, 'async_history', { path }))['versions'] as Answer[])[0] ?? {}
  let written = ''
  let versions: readonly Answer[] = []
  const isReached = async (answers: readonly string[]) => {
    if (!existsSync(file) || answers.length < steps.length) return false
    written = readFileSync(file, 'utf8')
    versions = await Promise.all(['new.txt', 'a.txt'].map(newest))
    // A client refuses to replace a file that it has not read.
    rmSync(file)
    const isRefused = answers.at(-1)?.includes('async_undo') === true
    if (!isRefused) await appendAsAnn()
    return isRefused && versions[0]?.['operation'] === 'native_edit' && versions[1]?.['operation'] === 'command'
  }
  const steps = [client.write(file, 'new\n'), client.shell('echo two >> a.txt'), client.shell('git checkout -- b.txt')]
  const { answers, said } = await work(t, given, { steps, isNative: true, isReached })
  t.equal(written, 'new\n', said)
  t.match(readFileSync(user.home.path('app/a.txt'), 'utf8'), /^one\n(two\n)+$/, said)
  const agent_id = new RegExp(`^${client.name}/`)
  t.match(
    versions,
    [
      { agent_id, operation: 'native_edit' },
      { agent_id, operation: 'command' }
    ],
    said
  )
  t.match(answers.at(-1), /ann[^]*async_undo/, said)
  t.equal(readFileSync(user.home.path('app/b.txt'), 'utf8'), 'one\nof ann\n', said)
}

async function serve(t: Test, { home, program, variables }: User, token = ''): Promise<string> {
  const [port = 0] = await freePorts(1)
  const args = ['--dir', home.path('app'), '--port', String(port)]
  const { url } = await startOneProgram(t, args, { ...variables, ASYNC_CRUD_MCP_DAEMON__TOKEN: token }, program)
  await untilServing(url, token)
  return url
}

function makeApp({ home }: User): void {
  mkdirSync(home.path('app/sub'), { recursive: true })
  for (const name of ['a.txt', 'b.txt']) writeFileSync(home.path(`app/${name}`), 'one\n')
  // Codex takes the files of a folder above from the same repository only.
  const git = (...args: string[]) => execFileSync('git', ['-C', home.path('app'), ...args])
  git('init', '--quiet')
  git('add', '.')
  git('-c', 'user.name=user', '-c', 'user.email=user@example.org', 'commit', '--quiet', '--message', 'first')
}

// Each waits most of its time, for timers and its own packages.
t.jobs = 2

const noGit = spawnSync('git', ['--version']).error !== undefined && 'no git here'

for (const [index, client] of realClients.entries()) {
  const program = findProgram(client.command)
  const noClient = program === undefined && `npm run clients installs ${client.package}, outside of the project`
  const skip = noClient || noGit
  let number = 0
  const test = (
    title: string,
    make: (t: Test) => Promise<User>,
    body: (t: Test, given: Omit<Case, 'flags'>) => Promise<void>
  ) => {
    const turn = number
    number += 1
    // In the short form each client works through one of the four set-ups, the next client through the next.
    if (!isFull && turn !== (index + 2) % 4) return
    void t.test(`${client.command}: ${title}`, { skip, buffered: true }, async (t) => {
      const user = await make(t)
      makeApp(user)
      await body(t, { client, program: program ?? '', user })
    })
  }

  test('from a clone, for a user', userOfClone, (t, given) =>
    workOverMcp(t, { ...given, flags: ['--dir', 'app', '--no-hooks'] })
  )

  test('from a clone, for a project', userOfClone, (t, given) => {
    const below = looksUpwards.includes(client.name) ? 'sub' : ''
    return workOverMcp(t, { ...given, flags: ['--project', 'app', '--no-hooks'], below })
  })

  test('from the package, for a project, with hooks', userOfPackage, (t, given) =>
    workBesideHooks(t, { ...given, flags: ['--project', 'app'] })
  )

  test('from the package, for a user, over HTTP with a token', userOfPackage, async (t, given) => {
    const { token = '' } = given.user
    await serve(t, given.user, token)
    const flags = ['--dir', 'app', '--transport', 'http', '--token-env', 'CRUD_TOKEN', '--no-hooks']
    await workOverMcp(t, { ...given, flags, variables: { CRUD_TOKEN: token } })
  })

  if (client.name === 'claude-code')
    for (const [form, flags] of [
      ['mcp_tool', []],
      ['http', ['--transport', 'http']]
    ] as const)
      test(`from a clone, for a project, with hooks of type ${form}`, userOfClone, async (t, given) => {
        const { home } = given.user
        // Setup asks the client in PATH for its version.
        symlinkSync(given.program, home.path('bin/claude'))
        await workBesideHooks(t, { ...given, flags: ['--project', 'app', ...flags] })
        t.match(readFileSync(home.path('app/.claude/settings.json'), 'utf8'), `"type": "${form}"`)
      })
}
