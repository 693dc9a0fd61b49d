// A file that another program edits between reads, without a trace in its size or its times: each read is right.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, futimesSync, openSync, statSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { connect } from '../fixtures/clients.ts'
import { lengthOf } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'
import { identityOf } from '../../src/engine/files/identity.ts'

const edits = lengthOf({ full: 10_000, short: 300 })
const rest = 'line of text "with quotes"\n'.repeat(40)
const textOf = (count: number) => `${String(count).padStart(8, '0')}\n${rest}`

async function readsAreRight(t: Test, tree: Tree, edit: (count: number) => Promise<void> | void): Promise<void> {
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url, 'reader')
  let wrong = 0
  for (let count = 1; count <= edits; count += 1) {
    await edit(count)
    const { content, hash } = await client.call('async_read', { path: 'f' })
    const text = textOf(count)
    if (content !== text || hash !== hashOf(text)) wrong += 1
  }
  t.equal(wrong, 0, `of ${edits} reads`)
}

t.test('in place, with the size and the times as before', async (t) => {
  const tree = makeTree(t, { f: textOf(0) })
  const fd = openSync(tree.path('f'), 'r+')
  t.teardown(() => closeSync(fd))
  const { atime, mtime } = fstatSync(fd)
  await readsAreRight(t, tree, (count) => {
    writeSync(fd, String(count).padStart(8, '0'), 0)
    futimesSync(fd, atime, mtime)
  })
})

const writer = `
import mmap, sys
with open(sys.argv[1], 'r+b') as file:
    view = mmap.mmap(file.fileno(), 0)
    for line in sys.stdin:
        view[0:8] = line.strip().encode()
        print(line.strip(), flush=True)
`
const cannotMap =
  spawnSync('python3', ['-c', 'import mmap']).status === 0 ? false : 'needs python3: apt-get install python3'

t.test('through a memory map, which changes bytes long before it changes a time', { skip: cannotMap }, async (t) => {
  const tree = makeTree(t, { f: textOf(0) })
  const child = spawn('python3', ['-c', writer, tree.path('f')], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  await readsAreRight(t, tree, async (count) => {
    const written = once(lines, 'line')
    child.stdin.write(`${String(count).padStart(8, '0')}\n`)
    await written
  })
})

t.test(
  'through a memory map, and async_list gives the hash of the bytes that are there',
  { skip: cannotMap },
  async (t) => {
    const tree = makeTree(t, { f: textOf(0) })
    const { url } = await startServer(t, tree.root)
    const client = await connect(t, 'rest', url)
    const child = spawn('python3', ['-c', writer, tree.path('f')], { stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })
    for (let count = 1; count <= 5; count += 1) {
      const written = once(lines, 'line')
      child.stdin.write(`${String(count).padStart(8, '0')}\n`)
      await written
      const { entries } = await client.call('async_list', { path: '.', include_hashes: true })
      if (count === 1) await client.call('async_read', { path: 'f' })
      else t.match(entries, [{ hash: hashOf(tree.bytes('f')) }])
      // From then on the times of the file would be trusted, if they told of such writes.
      const { ctimeMs } = statSync(tree.path('f'))
      await until(() => Date.now() > ctimeMs + 60)
    }
  }
)

t.test('the times of a file are trusted for a listing once a memory map would have changed them', (t) => {
  const stat = statSync(makeTree(t, { f: '' }).path('f'), { bigint: true })
  const at = Number(stat.ctimeNs / 1_000_000n)
  t.match(identityOf(stat, at + 59_000), { isTrusted: true, isSettled: false })
  t.match(identityOf(stat, at + 61_000), { isTrusted: true, isSettled: true })
  t.end()
})
