// Fencing tokens on real directories and real processes: they only grow, whatever happens to the file and to the process.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { createFencingTokens } from '../../../src/tree/state/fencing-tokens.ts'
import { createStateDirectory, type StateDirectory } from '../../../src/tree/state/state-directory.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

const file = '.async-crud-mcp/fencing-tokens.json'
const blockSize = 1_000_000
const giver = installed('dist/suites/fixtures/token-program.js')
const isRoot = process.getuid?.() === 0
const needsUser = process.platform === 'win32' || !isRoot ? 'needs a second user' : false

function start(tree: Tree, warnings: string[] = []) {
  return createFencingTokens(createStateDirectory(tree.root), { onWarning: (message) => warnings.push(message) })
}

/** The real directory, with its reads and writes counted. */
function counted(tree: Tree) {
  const calls = { read: 0, write: 0 }
  const real = createStateDirectory(tree.root)
  const state: StateDirectory = {
    ...real,
    read(name) {
      calls.read += 1
      return real.read(name)
    },
    write(name, text, options) {
      t.ok(options.isDurable)
      calls.write += 1
      real.write(name, text, options)
    }
  }
  const tokens = createFencingTokens(state, { onWarning: (message) => t.fail(message) })
  return { calls, tokens }
}

function reservedIn(tree: Tree): number {
  return (JSON.parse(tree.read(file)) as { reserved: number }).reserved
}

t.test('tokens of operations grow by one and leave nothing on the disk', (t) => {
  const tree = makeTree(t)
  const since = Date.now()
  const { calls, tokens } = counted(tree)
  const first = tokens.next()
  t.ok(
    since * 1000 <= first && first <= (Date.now() + 1) * 1000,
    'above every token of before, whatever has become of the file'
  )
  t.strictSame([tokens.next(), tokens.next()], [first + 1, first + 2])
  for (let call = 0; call < 3 * blockSize; call += 1) tokens.next()
  t.strictSame(calls, { read: 1, write: 0 })
  t.strictSame(tree.all(), [])
  t.end()
})

t.test('a token of a lease is covered by the file before it is given, one write for a million', (t) => {
  const tree = makeTree(t)
  const { calls, tokens } = counted(tree)
  const ordinary = tokens.next()
  const first = tokens.nextForLease()
  t.ok(first > ordinary)
  t.strictSame(JSON.parse(tree.read(file)), { version: 1, reserved: first + blockSize - 1 })
  for (let count = 2; count <= blockSize; count += 1) tokens.nextForLease()
  t.equal(calls.write, 1)
  t.equal(tokens.nextForLease(), first + blockSize)
  t.equal(calls.write, 2)
  t.equal(reservedIn(tree), first + 2 * blockSize - 1)
  for (let call = 0; call < 5 * blockSize; call += 1) tokens.next()
  const token = tokens.nextForLease()
  t.ok(reservedIn(tree) >= token, 'also where operations have run past the block')
  t.end()
})

t.test('tokens grow over many restarts, with and without leases', (t) => {
  const tree = makeTree(t)
  let last = 0
  for (let run = 0; run < 200; run += 1) {
    const tokens = start(tree)
    const given = [tokens.nextForLease(), tokens.next(), tokens.nextForLease()]
    for (const token of given) {
      t.ok(token > last)
      last = token
    }
    start(tree).next()
  }
  t.ok(Number.isSafeInteger(last))
  t.end()
})

t.test('tokens grow over processes killed at any moment', async (t) => {
  const tree = makeTree(t)
  let last = 0
  const runs = lengthOf({ full: 12, short: 4 })
  for (let run = 0; run < runs; run += 1) {
    const child = spawn(process.execPath, [giver, tree.root, 'self'], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    let printed = ''
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
      // At another place in every run.
      if (printed.length > (run * 1800) / runs) child.kill('SIGKILL')
    })
    await once(child, 'close')
    // What comes after the last line end may be cut off.
    const given = printed.split('\n').slice(0, -1).map(Number)
    t.ok(given.length > 0, 'it gave tokens before it was killed')
    t.ok(
      [last, ...given].every((token, index, all) => index === 0 || token > (all[index - 1] as number)),
      `run ${run}: ${given.length} tokens`
    )
    last = given.at(-1) as number
    t.ok(reservedIn(tree) >= last, 'the file covers what was printed')
  }
})

t.test('a file that cannot be used is kept under another name, told of, and tokens go on above', (t) => {
  const contents = {
    'cut off': '{"version":1,"res',
    empty: '',
    'of a later version': '{"version":2,"reserved":7}',
    'of another program': '[1,2,3]',
    null: 'null',
    'a text for a number': '{"version":1,"reserved":"5"}',
    'a fraction': '{"version":1,"reserved":0.5}',
    'below zero': '{"version":1,"reserved":-1}',
    'so large that no numbers are left': `{"version":1,"reserved":${Number.MAX_SAFE_INTEGER}}`,
    infinite: '{"version":1,"reserved":1e999}',
    huge: 'x'.repeat(100_000)
  }
  for (const [name, content] of Object.entries(contents)) {
    const tree = makeTree(t)
    const before = start(tree)
    for (let call = 0; call < 10; call += 1) before.nextForLease()
    tree.write(file, content)
    const warnings: string[] = []
    const tokens = start(tree, warnings)
    const token = tokens.nextForLease()
    t.ok(token > 2 * blockSize && token < 2 ** 52, name)
    t.equal(warnings.length, 1, 'one warning')
    t.match(
      warnings[0],
      /fencing-tokens\.json cannot be used: .*it is now fencing-tokens\.json\.broken-\d+\. Tokens go/
    )
    const aside = readdirSync(tree.path('.async-crud-mcp')).filter((name) => name.includes('.broken-'))
    t.equal(aside.length, 1)
    t.equal(tree.read(`.async-crud-mcp/${aside[0]}`), content)
    t.ok(start(tree).next() > token, 'and a restart after it goes on from there')
  }
  t.end()
})

t.test('the bound that a later version has left counts, where it is larger', (t) => {
  const large = 2 ** 52 - 5
  const tree = makeTree(t, { [file]: JSON.stringify({ version: 2, reserved: large }) })
  t.equal(start(tree, []).next(), large + 1)
  t.end()
})

t.test('a file that is broken, lowered or lost while the process runs does not lower its tokens', (t) => {
  for (const spoil of [
    (tree: Tree) => tree.write(file, 'broken'),
    (tree: Tree) => tree.write(file, '{"version":1,"reserved":3}'),
    (tree: Tree) => rmSync(tree.path('.async-crud-mcp'), { recursive: true })
  ]) {
    const tree = makeTree(t)
    const tokens = start(tree)
    tokens.nextForLease()
    for (let call = 0; call < blockSize; call += 1) tokens.next()
    spoil(tree)
    const token = tokens.nextForLease()
    t.ok(token > blockSize)
    t.ok(reservedIn(tree) >= token)
    t.ok(tokens.next() > token)
  }
  t.end()
})

t.test('a link planted in place of the folder or the file gets nothing written through it', (t) => {
  const elsewhere = makeTree(t, { 'fencing-tokens.json': '{"version":1,"reserved":3}' })
  const tree = makeTree(t)
  symlinkSync(elsewhere.root, tree.path('.async-crud-mcp'), 'junction')
  const warnings: string[] = []
  const tokens = start(tree, warnings)
  const token = tokens.next()
  t.ok(token > 2 * blockSize, 'what stands behind the link is not believed')
  t.match(warnings, [/must be a directory.*it could not be set aside.*Tokens go on/])
  t.throws(() => tokens.nextForLease(), {
    code: 'WRITE_ERROR',
    message: /No lease was granted.*symbolic link: remove it.*then try again/
  })
  t.ok(tokens.next() > token, 'operations go on')
  t.equal(elsewhere.read('fencing-tokens.json'), '{"version":1,"reserved":3}')
  t.strictSame(elsewhere.all(), ['fencing-tokens.json'])
  t.equal(warnings.length, 1, 'told once')
  rmSync(tree.path('.async-crud-mcp'))
  t.ok(tokens.nextForLease() > token, 'once the link is gone, leases are given')

  const other = makeTree(t)
  mkdirSync(other.path('.async-crud-mcp'))
  symlinkSync(elsewhere.path('fencing-tokens.json'), other.path(file))
  t.ok(start(other, warnings).nextForLease() > 2 * blockSize)
  t.equal(elsewhere.read('fencing-tokens.json'), '{"version":1,"reserved":3}')
  t.end()
})

t.test('where nothing can be written no lease is given, and operations go on', { skip: needsUser }, async (t) => {
  const tree = makeTree(t)
  chmodSync(tree.root, 0o755)
  const { stdout } = await promisify(execFile)(process.execPath, [giver, tree.root, 'nobody', '1'])
  t.match(stdout, /^WRITE_ERROR: No lease was granted.*EACCES.*Make .* writable.*\nordinary: \d{16}\n$/)
})

t.test('a folder or file that another user has put there is not believed', { skip: needsUser }, async (t) => {
  const stranger = 65_533
  const tree = makeTree(t, { [file]: '{"version":1,"reserved":3}' })
  chmodSync(tree.root, 0o777)
  chmodSync(tree.path('.async-crud-mcp'), 0o777)
  chownSync(tree.path(file), stranger, stranger)
  const give = async () => (await promisify(execFile)(process.execPath, [giver, tree.root, 'nobody', '1'])).stdout
  t.match(await give(), /^warning: .*belongs to another user.*it is now fencing-tokens\.json\.broken-\d+.*\n\d{16}\n$/)
  chownSync(tree.path('.async-crud-mcp'), stranger, stranger)
  t.match(await give(), /^warning: .*belongs to another user.*\nWRITE_ERROR: .*belongs to another user/)
})

t.test('two servers on one tree never give a lease the same token', (t) => {
  const tree = makeTree(t)
  const pair = [start(tree), start(tree)] as const
  const given = new Set<number>()
  let count = 0
  const last = [0, 0]
  for (let round = 0; round < lengthOf({ full: 6, short: 2 }); round += 1) {
    for (const which of [0, 1, 1, 0] as const) {
      const tokens = pair[which]
      const token = tokens.nextForLease()
      t.ok(token > (last[which] as number), 'each of them grows')
      last[which] = token
      given.add(token)
      count += 1
    }
    const busy = round % 2 === 0 ? 0 : 1
    for (let call = 0; call < 4 * blockSize; call += 1) last[busy] = pair[busy].next()
  }
  t.equal(given.size, count)
  t.ok(reservedIn(tree) >= Math.max(...given))
  t.end()
})
