// A checkout of 10,000 files in use: how late the event loop is meanwhile, when all is known, and what that costs at the least.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { makeTree, type Tree } from '../../test/fixtures/tree.ts'
import { withOwner } from '../owner.ts'
import { sourceText } from '../sources.ts'
import { median, percentile } from '../statistics.ts'
import { figure, printTable, whole, type Row } from '../table.ts'

const files = 10_000
const folders = 200
const rounds = 3
const sliceMs = 4
const run = promisify(execFile)

interface Round {
  /** How late timers of 1 ms were, each. */
  readonly p99: number
  readonly most: number
  readonly checkoutMs: number
  /** From the end of the checkout until all was known. */
  readonly lateMs: number
  readonly cpuMs: number
  /** Messages to each follower. */
  readonly messages: number
}

interface Outcome {
  /** By performance.now(). */
  readonly knownAt: number
  readonly messages: number
}

/** Made ready for a checkout that is about to begin. */
interface Notice {
  /** @param ended resolves when Git has ended */
  readonly outcome: (ended: Promise<unknown>) => Promise<Outcome>
  readonly close: () => unknown
}

type Subject = (tree: Tree, paths: readonly string[]) => Promise<Notice>

const subjects: readonly [string, Subject][] = [
  ['nothing watches', nothing],
  ['fs.watch; read and hash each file', bareWork],
  ['the server', server]
]

export async function watcher(): Promise<void> {
  console.log(`\n## watcher: git checkout of ${whole(files)} files that are in use, 2 KB each in ${folders} folders`)
  await withOwner(async (owner) => {
    const { tree, paths } = makeRepository(owner)
    const results = new Map(subjects.map(([name]) => [name, [] as Round[]]))
    let commit = 'one'
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, subject] of subjects) {
        commit = commit === 'one' ? 'two' : 'one'
        results.get(name)?.push(await measure(tree.root, commit, await subject(tree, paths)))
      }
    }
    const head = ['what', 'loop p99 ms', 'most ms', 'checkout ms', 'known after ms', 'processor ms', 'messages']
    printTable('a checkout', head, [...results].map(rowOf))
  })
}

function rowOf([name, all]: [string, Round[]]): Row {
  const mid = (value: (round: Round) => number) => median(all.map(value))
  return [
    name,
    figure(mid(({ p99 }) => p99)),
    figure(
      percentile(
        all.map(({ most }) => most),
        100
      )
    ),
    whole(mid(({ checkoutMs }) => checkoutMs)),
    whole(mid(({ lateMs }) => lateMs)),
    whole(mid(({ cpuMs }) => cpuMs)),
    whole(mid(({ messages }) => messages))
  ]
}

async function measure(root: string, commit: string, { outcome, close }: Notice): Promise<Round> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = process.cpuUsage()
  const start = performance.now()
  delay.enable()
  const ended = run('git', ['checkout', '-q', commit], { cwd: root }).then(() => performance.now())
  const { knownAt, messages } = await outcome(ended)
  const endedAt = await ended
  delay.disable()
  const { user, system } = process.cpuUsage(before)
  await close()
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - 1)
  return {
    p99: late(delay.percentile(99)),
    most: late(delay.max),
    checkoutMs: endedAt - start,
    lateMs: Math.max(0, knownAt - endedAt),
    cpuMs: (user + system) / 1000,
    messages
  }
}

function makeRepository(owner: { teardown(fn: () => unknown): void }): { tree: Tree; paths: string[] } {
  const tree = makeTree(owner)
  const names = Array.from({ length: files }, (_, index) => `d${index % folders}/file-${index}.ts`)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=bench', '-c', 'user.email=bench@example.org', '-c', 'gc.auto=0', ...args], {
      cwd: tree.root
    })
  const text = sourceText(2000)
  git('init', '-q')
  for (const commit of ['one', 'two']) {
    for (const name of names) tree.write(name, `// ${commit} ${name}\n${text}`)
    git('add', '.')
    git('commit', '-qm', commit)
    git('tag', commit)
  }
  git('checkout', '-q', 'one')
  return { tree, paths: names.map((name) => tree.path(name)) }
}

async function nothing(): Promise<Notice> {
  return {
    outcome: async (ended) => {
      await ended
      return { knownAt: performance.now(), messages: 0 }
    },
    close: () => {}
  }
}

/** The least that noticing takes: the system's notices, and each changed file read and hashed, with turns for others. */
async function bareWork(_tree: Tree, paths: readonly string[]): Promise<Notice> {
  const dirty = new Set<string>()
  const watchers = [...new Set(paths.map((path) => dirname(path)))].map((folder) =>
    watch(folder, (_, name) => dirty.add(`${folder}/${name}`))
  )
  return {
    async outcome(ended) {
      // While Git is still at it a file may be half written.
      await ended
      const known = new Set<string>()
      while (known.size < files) {
        const until = performance.now() + sliceMs
        for (const path of dirty) {
          dirty.delete(path)
          createHash('sha256').update(readFileSync(path)).digest('hex')
          known.add(path)
          if (performance.now() > until) break
        }
        await setImmediate()
      }
      return { knownAt: performance.now(), messages: 0 }
    },
    close: () => watchers.forEach((watcher) => watcher.close())
  }
}

async function server({ root }: Tree, paths: readonly string[]): Promise<Notice> {
  const config = loadConfig({ crud: { base_directories: [root] }, daemon: { log_level: 'silent' } })
  const app = await createApp({ config, version: 'bench' })
  await app.ready()
  const call = { caller: { transport: 'internal', agentId: 'bench' }, signal: new AbortController().signal } as const
  for (const path of paths) await app.call('async_read', { path }, call)
  return { outcome: () => untilKnown(app), close: () => app.close() }
}

/** Until each file has changed, and each follower got its message. */
function untilKnown({ history, watcher }: FastifyInstance): Promise<Outcome> {
  const changed = new Set<string>()
  let knownAt = 0
  let messages = 0
  return new Promise((resolve) => {
    history.onEntry(({ steps: [{ path }], isBulk }) => {
      messages += isBulk ? 0 : 1
      if (changed.size < files && changed.add(path).size === files) knownAt = performance.now()
    })
    watcher?.onBulk(() => {
      messages += 1
      if (changed.size === files) resolve({ knownAt, messages })
    })
  })
}
