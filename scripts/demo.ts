// A tree in a temporary folder, agents and a person that work on it, and the board that shows them: npm run demo
// Ctrl-C ends it, and nothing stays. usage: demo [--seconds <n>] [--no-open] [--port <n>]
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { endWithNpm } from '../src/program/cli/end-with-npm.ts'
import { mainPath } from '../src/support/installation.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string' },
    port: { type: 'string' },
    'no-open': { type: 'boolean', default: false }
  }
})

endWithNpm('demo')
const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-demo-'))
const end = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end.abort())
if (options.seconds !== undefined) setTimeout(() => end.abort(), Number(options.seconds) * 1000).unref()

const files = [
  'README.md',
  'package.json',
  'packages/storefront/src/server.ts',
  'packages/storefront/src/router.ts',
  'packages/storefront/src/session.ts',
  'packages/storefront/src/database/connections/pool.ts',
  'packages/storefront/src/database/queries/query.ts',
  'packages/storefront/src/components/widgets/button.tsx',
  'packages/administration/src/components/widgets/button.tsx',
  'packages/administration/src/components/widgets/table.tsx',
  'packages/storefront/test/router.test.ts',
  'docs/guide.md',
  'docs/news.md'
]

const storefront = 'packages/storefront/src'
const [router, session, pool, query] = [
  `${storefront}/router.ts`,
  `${storefront}/session.ts`,
  `${storefront}/database/connections/pool.ts`,
  `${storefront}/database/queries/query.ts`
]

/** As the hooks of harnesses name their sessions. */
const sessionOf = (harness: string): string => `${harness}/${randomUUID()}`

const words = [
  'faster now',
  'fewer branches',
  'one place for it',
  'see the guide',
  'tested',
  'renamed',
  'as agreed',
  'simpler'
]

type Answer = Record<string, unknown> & { status?: string; hash?: string; current_hash?: string; content?: string }

let server: ChildProcess | undefined
try {
  for (const file of files) plant(file)
  server = startServer()
  const url = await addressOf(server)
  const board = `${url}/board`
  console.log(
    `The board: ${board}\nNine agents and a person work in ${folder}. Ctrl-C ends the demo and removes the folder.`
  )
  if (!options['no-open']) openInBrowser(board)
  const first = sessionOf('claude-code')
  const agents = [
    editor(first, router),
    editor(sessionOf('claude-code'), router),
    merger(`${first}/a1b2c3d4`, 'docs/guide.md', '## First'),
    merger(sessionOf('codex'), 'docs/guide.md', '## Last'),
    leaser(sessionOf('claude-code'), [pool, query], 'moves the pool to its own module'),
    leaser(sessionOf('gemini'), [query, session], 'new query builder'),
    crosser(sessionOf('opencode'), [session, pool], 'sessions in the database'),
    reader(sessionOf('claude-code')),
    silent(sessionOf('claude-code'), 'packages/administration/src/components/widgets/table.tsx')
  ]
  const outside = [runCommands(first), editByHand()]
  await Promise.all([...agents.map((agent) => forEver(url, agent)), ...outside])
} catch (error) {
  if (!end.signal.aborted) {
    console.error(`The demo has ended: ${(error as Error).message}`)
    process.exitCode = 1
  }
} finally {
  end.abort()
  await stop(server)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

type Call = (operation: string, input: object) => Promise<Answer>

interface Agent {
  readonly name: string
  /** One round of its work. */
  readonly work: (call: Call, round: number) => Promise<void>
}

/** Changes one line of the version that it read a moment ago: it comes too late now and then. */
function editor(name: string, path: string): Agent {
  return {
    name,
    async work(call, round) {
      const { hash, content = '' } = await call('async_read', { path })
      await pause(600, 2200)
      const line = pick(content.split('\n').filter((each) => each.startsWith('  // ')))
      if (line === undefined) return
      const patch = { old_string: line, new_string: `  // round ${round} of ${name.slice(0, 16)}: ${pick(words)}` }
      await call('async_update', {
        path,
        expected_hash: hash,
        patches: [patch],
        change_set: `Round ${round} of the router`
      })
      await pause(300, 1500)
    }
  }
}

/** Writes at a place of its own and lets the server merge. */
function merger(name: string, path: string, place: string): Agent {
  return {
    name,
    async work(call, round) {
      const { hash, content = '' } = await call('async_read', { path })
      await pause(800, 2500)
      const lines = content.split('\n')
      const at = lines.findIndex((line) => line.startsWith(place))
      lines.splice(at + 2, lines.length > 60 ? 1 : 0, `${round}. ${pick(words)}, ${pick(words)}.`)
      await call('async_update', { path, expected_hash: hash, content: lines.join('\n'), on_contention: 'merge' })
    }
  }
}

/** Keeps several files for some seconds, and changes them. */
function leaser(name: string, filepaths: readonly string[], note: string): Agent {
  return {
    name,
    async work(call, round) {
      const { all_acquired } = await call('lock_wait', { filepaths, note, ttl_seconds: 20, timeout_seconds: 15 })
      if (all_acquired === true) {
        for (const path of filepaths) {
          const { hash, content = '' } = await call('async_read', { path })
          await pause(1200, 2600)
          const marked = content.replace(/ {2}\/\/ .*\n/, `  // ${note}, step ${round}\n`)
          await call('async_update', { path, expected_hash: hash, content: marked })
        }
        await pause(500, 2000)
      }
      await call('lock_release_all', {})
      await pause(800, 3000)
    }
  }
}

/** Takes one file and then asks for another, the other way round than its neighbours: a circle is refused now and then. */
function crosser(name: string, filepaths: readonly string[], note: string): Agent {
  return {
    name,
    async work(call, round) {
      for (const path of round % 2 === 0 ? filepaths : filepaths.toReversed()) {
        await call('lock_wait', { filepaths: [path], note, ttl_seconds: 20, timeout_seconds: 8 })
        await pause(1000, 2500)
      }
      const path = `notes/round-${round % 4}.md`
      await call('async_write', { path, content: `# ${note}\n\nRound ${round}.\n` })
      await call('lock_release_all', {})
      if (round % 4 === 3) await call('async_delete', { path })
      await pause(1500, 3000)
    }
  }
}

function reader(name: string): Agent {
  return {
    name,
    async work(call) {
      await call('async_read', { path: pick(files) ?? 'README.md' })
      await call('async_list', { path: pick(['src', 'docs', '.']) ?? '.' })
      await pause(500, 1500)
    }
  }
}

/** Takes a file, and is not heard of again. */
function silent(name: string, path: string): Agent {
  return {
    name,
    async work(call) {
      await call('lock_try', { filepaths: [path], note: 'new columns', ttl_seconds: 1800 })
      await sleep(24 * 3_600_000, undefined, { signal: end.signal })
    }
  }
}

/** A person with an editor: the server sees the files change. */
async function editByHand(): Promise<void> {
  for (let round = 0; !end.signal.aborted; round += 1) {
    await pause(4000, 9000)
    appendFileSync(join(folder, 'docs/guide.md'), `By hand, round ${round}.\n`)
  }
}

/** As the shell tool of an agent does. */
async function runCommands(name: string): Promise<void> {
  for (let round = 0; !end.signal.aborted; round += 1) {
    await pause(5000, 9000)
    const script = `require('fs').appendFileSync('docs/news.md', 'Round ${round}.\\n')`
    const child = spawn(process.execPath, [mainPath, 'run', '--agent', name, '--', process.execPath, '-e', script], {
      cwd: folder,
      stdio: 'ignore'
    })
    await once(child, 'exit')
  }
}

/** The refusals that a round may meet are what the board shows; the agent goes on with its next round. */
async function forEver(url: string, { name, work }: Agent): Promise<void> {
  const call: Call = async (operation, input) => {
    const response = await fetch(`${url}/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': name },
      body: JSON.stringify(input),
      signal: end.signal
    })
    return (await response.json()) as Answer
  }
  for (let round = 0; !end.signal.aborted; round += 1) await work(call, round)
}

function pause(fromMs: number, toMs: number): Promise<void> {
  return sleep(fromMs + Math.random() * (toMs - fromMs), undefined, { signal: end.signal })
}

function pick<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)]
}

function plant(file: string): void {
  const path = join(folder, file)
  mkdirSync(dirname(path), { recursive: true })
  const name = file.slice(file.lastIndexOf('/') + 1)
  writeFileSync(path, file.endsWith('.md') ? guide(name) : code(name))
}

function guide(name: string): string {
  return `# ${name}\n\n## First steps\n\n0. Begin.\n\n${'Some text that stays.\n\n'.repeat(6)}## Last steps\n\n0. End.\n`
}

function code(name: string): string {
  const functions = ['open', 'read', 'write', 'close'].map(
    (verb) => `export function ${verb}() {\n  // ${verb} of ${name}\n  return '${verb}'\n}\n`
  )
  return `// ${name}\n\n${functions.join('\n')}`
}

/** In a process group of its own: Ctrl-C reaches this program alone, which stops the server when the agents have ended. */
function startServer(): ChildProcess {
  return spawn(
    process.execPath,
    [mainPath, '--dir', folder, ...(options.port === undefined ? [] : ['--port', options.port])],
    {
      env: { ...process.env, ASYNC_CRUD_MCP_CONFIG: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true
    }
  )
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines: string[] = []
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (lines.length < 50) lines.push(line)
      const [, url] = /listening on (http:\/\/[^ ",]+)/.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
    child.once('exit', () => reject(new Error(`the server did not start: ${lines.join('\n')}`)))
    child.once('error', reject)
  })
}

async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Where there is a display; failing to open one is no fault of the demo. */
function openInBrowser(address: string): void {
  const [command, ...before] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  const hasDisplay =
    process.platform !== 'linux' || (process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY']) !== undefined
  if (!hasDisplay || !process.stdout.isTTY) return
  spawn(command, [...before, address], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
