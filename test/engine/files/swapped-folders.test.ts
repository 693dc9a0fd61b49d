// A program swaps a folder of the tree for a link to the outside, as fast as it can, while the tree is read and changed. With descriptor paths, and
// without them, as on macOS and Windows. For half a minute each, with figures: TEST_LENGTH=long npm test -- swapped-folders
import { spawn } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { createCommits } from '../../../src/engine/commit/commits.ts'
import { sweepLeftovers } from '../../../src/engine/commit/leftovers.ts'
import type { Step } from '../../../src/engine/commit/step.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { connect } from '../../fixtures/clients.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { withoutDescriptorPaths } from '../../fixtures/preload.ts'
import { startServer } from '../../fixtures/server.ts'
import { hooksOf, stepTo } from '../../fixtures/steps.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'

// It goes on until every call was made in a moment when the folder was there: how long that takes, the machine decides.
t.setTimeout(600_000)

const isAgain = process.env['TEST_WITHOUT_DESCRIPTOR_PATHS'] === 'yes'
const limits = { maxFileBytes: 1_000_000, maxSyncBytes: 100_000 }
/** Of each attack. It goes on until every kind of call was made often enough. */
const attackMs = lengthOf({ long: 30_000, full: 1000, short: 150 })
const leastDone = 3
/** No process has this id: it is beyond the largest that Linux gives. */
const leftover = '.async-crud-mcp-4194999-a-0123456789abcdef.tmp'

/**
 * Swaps a directory and a link to the outside as fast as it can, in a thread of its own. It rests for a millisecond after each burst, or few of
 * the longer calls would get to their ends.
 */
const attacker = `
const { renameSync } = require('node:fs')
const { workerData } = require('node:worker_threads')
const { good, evil, slot, flag, burst } = workerData
const state = new Int32Array(flag)
while (Atomics.load(state, 0) === 0) {
  renameSync(slot, good); renameSync(evil, slot)
  renameSync(slot, evil); renameSync(good, slot)
  if (Atomics.add(state, 1, 1) % burst === 0) Atomics.wait(state, 2, 0, 1)
}`

async function underAttack(tree: Tree, run: (swaps: () => number) => Promise<void>): Promise<number> {
  const flag = new SharedArrayBuffer(12)
  const state = new Int32Array(flag)
  const [good, evil, slot] = ['good', 'evil', 'slot'].map((name) => tree.path(`root/${name}`))
  const workerData = { good, evil, slot, flag, burst: 30 }
  const worker = new Worker(attacker, { eval: true, workerData })
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  try {
    while (Atomics.load(state, 1) === 0) await new Promise(setImmediate)
    await run(() => Atomics.load(state, 1))
  } finally {
    Atomics.store(state, 0, 1)
    await ended
  }
  return state[1] as number
}

const secretBytes = 4321
/** What is outside: every name there, with its content. */
const secrets: Readonly<Record<string, string>> = Object.fromEntries(
  ['f.txt', 'there.txt', 'here.txt', 'away.txt', 'both.txt', 'only-outside.txt', `below/${leftover}`].map((name) => [
    name,
    'secret'.padEnd(secretBytes, '.')
  ])
)

/** Counts what was done to the outside, and puts it right again. */
function createAudit(outside: string) {
  const found = { made: 0, changed: 0, removed: 0 }
  const put = () => {
    mkdirSync(join(outside, 'below'), { recursive: true })
    for (const [name, content] of Object.entries(secrets)) writeFileSync(join(outside, name), content)
  }
  put()
  return {
    found,
    look(): void {
      const names = readdirSync(outside, { recursive: true }) as string[]
      const made = names.filter((name) => secrets[name] === undefined && name !== 'below')
      const kept = Object.keys(secrets).filter((name) => existsSync(join(outside, name)))
      found.made += made.length
      found.removed += Object.keys(secrets).length - kept.length
      found.changed += kept.filter((name) => readFileSync(join(outside, name), 'utf8') !== secrets[name]).length
      for (const name of made) rmSync(join(outside, name), { recursive: true, force: true })
      put()
    }
  }
}

/** Calls on the folder that is swapped, and on another one. Each throws if it is refused. @param onRead gets all that is read */
function createCalls(root: string, onRead: (text: string) => void) {
  const store = createFileStore({ roots: [root], ...limits, hardlinks: 'break', protectedPaths: [] })
  const commits = createCommits(store, { ...limits, durability: 'rename' })
  type Place = ReturnType<typeof store.open>

  async function withPlaces(paths: readonly string[], use: (...places: Place[]) => Promise<void>): Promise<void> {
    const places: Place[] = []
    try {
      for (const path of paths) places.push(store.open(path, 'entry'))
      // It would be made in the place of the one that is swapped.
      if (places.some(({ missing }) => missing.includes('slot'))) throw new Error('missing at this moment')
      await use(...places)
    } finally {
      for (const place of places) place.close()
    }
  }

  async function versionAt(place: Place) {
    if (place.stat === undefined) return undefined
    const version = await store.read(place, place.path)
    onRead(version.bytes.toString())
    return version
  }

  /** Makes the file, or removes it. */
  const toggle = (path: string) =>
    withPlaces([path], async (place) => {
      const version = await versionAt(place)
      const content = version === undefined ? 'inside' : undefined
      await commits.commit([stepTo(place, path, version, content)], hooksOf())
    })

  /** Renames one to the other, or back. */
  const move = (path: string, other: string, isTogether = false) =>
    withPlaces([path, other], async (one, two) => {
      const [from, to] = one.stat === undefined ? [two, one] : [one, two]
      const version = await versionAt(from)
      const source: Step = { ...stepTo(from, from.path, version, undefined), isMoved: true }
      const target: Step = { ...stepTo(to, to.path, undefined, undefined), after: { kind: 'moved', from, version } }
      await commits.commit([source, target], { ...hooksOf(), mayCopy: !isTogether })
    })

  async function list(path: string): Promise<void> {
    const { entries } = await store.list(path, listing)
    for (const { name, stat } of entries) onRead(Number(stat.size) === secretBytes ? 'secret' : name)
  }

  const signal = new AbortController().signal
  const all = { matches: () => true, reaches: () => true, includesGit: true }
  const listing = { search: all, searchKey: '', ignore: false, maxEntries: 1000, limit: 1000, after: undefined, signal }
  let round = 0
  return {
    roots: store.roots,
    close: () => store.close(),
    calls: {
      read: () => withPlaces(['slot/f.txt'], async (place) => void (await versionAt(place))),
      update: () =>
        withPlaces(['slot/f.txt'], async (place) => {
          const version = await versionAt(place)
          await commits.commit([stepTo(place, 'f', version, `inside ${(round += 1)}`)], hooksOf())
        }),
      'make and delete': () => toggle('slot/new.txt'),
      'make and delete what is outside, too': () => toggle('slot/there.txt'),
      'make in a new folder': () => toggle(`slot/new-${(round += 1)}/new.txt`),
      'rename in the folder': () => move('slot/here.txt', 'slot/moved.txt'),
      'rename out of the folder and back': () => move('slot/away.txt', 'other/away.txt'),
      'change two files together': () => move('slot/both.txt', 'other/deep/both.txt', true),
      'list all': () => list('.'),
      'list the folder': () => list('slot')
    }
  }
}

t.test('a folder that is swapped for a link leads no call out', async (t) => {
  const inside = ['slot/f.txt', 'slot/here.txt', 'slot/away.txt', 'slot/both.txt', 'other/deep/f.txt']
  const tree = makeTree(t, Object.fromEntries(inside.map((name) => [`root/${name}`, 'inside'])))
  const audit = createAudit(tree.path('outside'))
  symlinkSync(tree.path('outside'), tree.path('root/evil'))
  let escapes = 0
  const { calls, close } = createCalls(tree.path('root'), (text) => {
    if (text.includes('secret') || text.includes('only-outside')) escapes += 1
  })
  t.teardown(close)
  const home = process.cwd()
  const done = Object.fromEntries(Object.keys(calls).map((name) => [name, 0])) as Record<keyof typeof calls, number>
  const swaps = await underAttack(tree, async (swapsUntilNow) => {
    const end = performance.now() + attackMs
    const isEnough = () => swapsUntilNow() > 100 && Object.values(done).every((count) => count >= leastDone)
    for (let round = 1; performance.now() < end || !isEnough(); round += 1) {
      for (const [name, call] of Object.entries(calls)) {
        try {
          await call()
          done[name as keyof typeof calls] += 1
        } catch {
          // Refused, or gone at that moment.
        }
      }
      if (round % 50 === 0) audit.look()
      if (round % 200 === 0) await new Promise(setImmediate)
    }
  })
  audit.look()
  for (const name of tree.all().filter((name) => /^root.(slot|other)\b.*\.txt$/.test(name)))
    if (tree.read(name).includes('secret')) escapes += 1
  t.comment(JSON.stringify({ swaps, done, escapes, ...audit.found }))
  t.equal(escapes, 0, 'nothing outside was read')
  t.strictSame(audit.found, { made: 0, changed: 0, removed: 0 }, 'nothing outside was changed')
  t.equal(process.cwd(), home)
  t.ok(swaps > 100, `${swaps} swaps`)
})

t.test('a folder that is swapped for a link while leftovers are swept never lets the sweep out', async (t) => {
  const names = Array.from({ length: 300 }, (_, index) => `outside/${index}/${leftover}`)
  const files = names.flatMap((name) => [name, name.replace('outside', 'root/slot')])
  const tree = makeTree(t, Object.fromEntries(files.map((name) => [name, ''])))
  symlinkSync(tree.path('outside'), tree.path('root/evil'))
  const { roots, close } = createCalls(tree.path('root'), () => {})
  t.teardown(close)
  let removed = 0
  const swaps = await underAttack(tree, async () => {
    const end = performance.now() + attackMs / 2
    while (performance.now() < end || removed === 0) {
      removed += await sweepLeftovers(roots, new AbortController().signal)
      if (removed === files.length / 2) break
    }
  })
  const gone = names.filter((name) => !existsSync(tree.path(name)))
  t.comment(JSON.stringify({ swaps, removed, gone: gone.length }))
  t.strictSame(gone, [], 'what lies outside is still there')
  t.ok(removed > 0, `${removed} files swept against ${swaps} swaps`)
})

t.test('a rename to another folder is one change: of a file, of a link, and of a file too large to read', async (t) => {
  const tree = makeTree(t, { 'from/f': 'one', 'from/large': 'x'.repeat(2000), 'to/g': 'old' })
  symlinkSync('f', tree.path('from/link'))
  symlinkSync('nowhere', tree.path('from/broken'))
  const inode = (path: string) => lstatSync(tree.path(path)).ino
  const { url } = await startServer(t, tree.root, { crud: { max_file_size_bytes: 1000 } })
  const client = await connect(t, 'rest', url, 'tester')
  const rename = (old_path: string, new_path: string, overwrite = false) =>
    client.call('async_rename', { old_path, new_path, overwrite })
  const [file, large] = [inode('from/f'), inode('from/large')]
  t.match(await rename('from/link', 'to/link'), { status: 'ok', changed: true, hash: null })
  t.match(await rename('from/broken', 'to/new/broken'), { status: 'ok', changed: true, hash: null })
  t.match(await rename('from/large', 'to/new/large'), { status: 'ok', changed: true })
  t.match(await rename('from/f', 'to/g'), { error_code: 'FILE_EXISTS' })
  t.match(await rename('from/f', 'to/g', true), { status: 'ok', changed: true, hash: hashOf('one') })
  t.strictSame([readlinkSync(tree.path('to/link')), readlinkSync(tree.path('to/new/broken'))], ['f', 'nowhere'])
  t.strictSame([inode('to/g'), inode('to/new/large')], [file, large], 'the files themselves')
  t.strictSame(tree.all(), ['from', 'to', 'to/g', 'to/link', 'to/new', 'to/new/broken', 'to/new/large'])
  t.match(await client.call('async_history', { path: 'to/g', limit: 1 }), { versions: [{ operation: 'async_rename' }] })
})

t.test('all this holds without descriptor paths', { skip: isAgain && 'this is the run without them' }, async (t) => {
  const own = process.argv[1] as string
  const swaps = own.replace('engine/files/swapped-folders', 'operations/commands/replaced-folders')
  for (const file of [own, own.replace('swapped-folders', 'containment'), swaps]) {
    const environment = { ...process.env, TEST_WITHOUT_DESCRIPTOR_PATHS: 'yes' }
    const child = spawn(process.execPath, ['--import', withoutDescriptorPaths, file], { env: environment })
    let said = ''
    child.stdout.on('data', (text: Buffer) => (said += text.toString()))
    child.stderr.on('data', (text: Buffer) => (said += text.toString()))
    const code = await new Promise((resolve) => child.once('close', resolve))
    for (const comment of said.match(/\{"swaps".*\}/g) ?? []) t.comment(comment)
    t.equal(code, 0, code === 0 ? file : said)
  }
})
