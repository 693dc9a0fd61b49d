// Where the system gives too few watches, the server says so, looks itself, and is well again when there are more. In a user namespace with limits of its own.
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { askHealth } from '../../../src/program/background/probe-server.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { programPath } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const files = { 'a/f': 'one\n', 'b/f': 'one\n', 'c/f': 'one\n' }
const limitPath = (limit: string) => `/proc/sys/user/max_inotify_${limit}`
const tried = spawnSync('unshare', ['-Ur', 'sh', '-c', `echo 1 > ${limitPath('watches')}`])
const skip = tried.status !== 0 && 'no user namespaces here'

const cases = [
  { limit: 'watches', value: 2, code: 'ENOSPC', watched: 2, setting: 'fs.inotify.max_user_watches' },
  { limit: 'instances', value: 0, code: 'EMFILE', watched: 0, setting: 'fs.inotify.max_user_instances' }
]

for (const { limit, value, code, watched, setting } of cases) {
  t.test(
    `too few inotify ${limit}: changes are noticed all the same, and health says what to do`,
    { skip },
    async (t) => {
      const tree = makeTree(t, files)
      const { url, pid, logged } = await startLimited(t, tree.root, limit, value)
      const ann = await connect(t, 'rest', url, 'ann')
      for (const path of Object.keys(files)) await ann.call('async_read', { path })
      const health = await untilHealth(url, 'degraded')
      t.match(health, {
        status: 'degraded',
        watcher: { state: 'degraded', watched_directories: watched, tracked_files: 3 },
        degraded: [{ part: 'watcher', message: new RegExp(`^${watched} of 4 folders are watched \\(${code} at `) }]
      })
      t.match(health['degraded'][0].message, setting)
      t.match(await askHealth(url, ''), { state: 'degraded' }, 'a server that answers is not a foreign one')
      await logged((line) => line.includes(`(${code} at `))
      tree.write('c/f', 'two\n')
      await untilVersion(tree.path('c/f'), 'two\n')

      spawnSync('nsenter', [
        '-t',
        String(pid),
        '-U',
        '--preserve-credentials',
        'sh',
        '-c',
        `echo 99 > ${limitPath(limit)}`
      ])
      t.match(await untilHealth(url, 'healthy'), {
        degraded: [],
        watcher: { state: 'watching', watched_directories: 4 }
      })
      tree.write('b/f', 'three\n')
      await untilVersion(tree.path('b/f'), 'three\n')

      /** Noticed by the watcher: async_history reads no file. */
      async function untilVersion(path: string, content: string): Promise<void> {
        const wanted = hashOf(content)
        await until(async () => {
          const answer = await ann.call('async_history', { path })
          return JSON.stringify(answer).includes(wanted)
        })
      }
    }
  )
}

t.test(
  'what is not watched is looked at soon for the first time, too, however rare the rounds are',
  { skip },
  async (t) => {
    const tree = makeTree(t, files)
    const { url } = await startLimited(t, tree.root, 'watches', 2, 3600)
    const ann = await connect(t, 'rest', url, 'ann')
    for (const path of Object.keys(files)) await ann.call('async_read', { path })
    t.match(await untilHealth(url, 'degraded'), { degraded: [{ message: /are noticed within 5 s/ }] })
    tree.write('c/f', 'two\n')
    const wanted = hashOf('two\n')
    await until(async () => JSON.stringify(await ann.call('async_history', { path: 'c/f' })).includes(wanted))
  }
)

async function untilHealth(url: string, status: string): Promise<Answer> {
  let health: Answer = {}
  await until(async () => {
    health = (await (await fetch(`${url}/health`)).json()) as Answer
    return health['status'] === status
  })
  return health
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(20)
}

interface LimitedServer {
  readonly url: string
  readonly pid: number | undefined
  /** Resolves when such a line has been logged. */
  readonly logged: (isMeant: (line: string) => boolean) => Promise<void>
}

/** The real program as the one process that a limit of its own applies to. */
async function startLimited(
  t: Test,
  root: string,
  limit: string,
  value: number,
  rescanSeconds = 0.1
): Promise<LimitedServer> {
  const start = `echo ${value} > ${limitPath(limit)} && exec "$@"`
  const program = [process.execPath, programPath, '--dir', root]
  const child = spawn('unshare', ['-Ur', 'sh', '-c', start, 'sh', ...program], {
    env: { ...process.env, ASYNC_CRUD_MCP_CONFIG: '', ASYNC_CRUD_MCP_WATCHER__RESCAN_SECONDS: String(rescanSeconds) },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line))
  const logged = (isMeant: (line: string) => boolean) => until(async () => lines.some(isMeant))
  const address = /listening on (http:\/\/[^ ",]+)/
  await logged((line) => address.test(line))
  return { url: address.exec(lines.join('\n'))?.[1] ?? '', pid: child.pid, logged }
}
