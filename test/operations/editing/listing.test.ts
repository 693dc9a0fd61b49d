// list_files (FES 2.2): what is a file of the folder, and that no line count is ever an old one.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  type BigIntStats
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Directory } from '../../../src/engine/files/directory.ts'
import { createSurveyor } from '../../../src/engine/files/survey.ts'
import {
  faces,
  failsWith,
  makeFolder,
  resultOf,
  show,
  withoutPrivilege,
  type Face
} from '../../fixtures/file-editing.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lengthOf } from '../../fixtures/length.ts'

interface ListedFile {
  readonly name: string
  readonly size: number
  readonly modified: string
  readonly readable: boolean
  readonly writable: boolean
  readonly lines: number
}

async function list(face: Pick<Face, 'call'>): Promise<ListedFile[]> {
  const { files, total_count } = resultOf(await face.call('list_files', {}))
  if (total_count !== files.length) throw new Error(`total_count is ${total_count} for ${files.length} files`)
  return files as ListedFile[]
}

const namesOf = (files: readonly ListedFile[]) => files.map(({ name }) => name)
const linesOf = async (face: Face, wanted = 'f') => (await list(face)).find(({ name }) => name === wanted)?.lines

/** Four bytes in so many lines. */
const fourBytes = ['', 'aaaa', 'a\naa', 'a\n\na', '\n\n\n\n'] as const

/** Until so much time has passed since the last change of a file that its times alone tell the next one. */
async function untilSettled(path: string): Promise<void> {
  await until(() => Date.now() - lstatSync(path).ctimeMs >= 100)
}

for (const [transport, start] of Object.entries(faces)) {
  t.test(`over ${transport}`, async (t) => {
    const folder = await makeFolder(t, start, ['--max-size', '1'], {
      through: withoutPrivilege ?? [],
      environment: { ASYNC_CRUD_MCP_CRUD__PROTECTED: '["locked.txt"]' }
    })
    const { face, tree, put } = folder

    await t.test('a file rewritten with the same size right after a listing shows its new count', async (t) => {
      put({ f: fourBytes[1] })
      const wrong: string[] = []
      for (let round = 0; round < lengthOf({ full: 200, short: 8 }); round += 1) {
        const expected = (round % 4) + 1
        writeFileSync(tree.path('f'), fourBytes[expected] as string)
        const lines = await linesOf(face)
        if (lines !== expected) wrong.push(`${lines} instead of ${expected} in round ${round}`)
      }
      t.strictSame(wrong, [])
    })

    await t.test('so does one whose time is set back to what it was', async (t) => {
      put({ f: fourBytes[1] })
      const old = new Date(Date.UTC(2026, 0, 1))
      const wrong: string[] = []
      for (let round = 0; round < lengthOf({ full: 100, short: 5 }); round += 1) {
        const expected = (round % 4) + 1
        writeFileSync(tree.path('f'), fourBytes[expected] as string)
        utimesSync(tree.path('f'), old, old)
        const lines = await linesOf(face)
        if (lines !== expected) wrong.push(`${lines} instead of ${expected} in round ${round}`)
      }
      t.strictSame(wrong, [])
      t.match(await list(face), [{ name: 'f', modified: old.toISOString() }])
    })

    await t.test('so does one whose count has been known for long', async (t) => {
      const old = new Date(Date.UTC(2026, 0, 1))
      put({ f: fourBytes[1], other: fourBytes[4] })
      const changes: [string, () => void, number][] = [
        ['rewritten', () => writeFileSync(tree.path('f'), fourBytes[2]), 2],
        [
          'rewritten, its time set back',
          () => {
            writeFileSync(tree.path('f'), fourBytes[3])
            utimesSync(tree.path('f'), old, old)
          },
          3
        ],
        [
          'deleted and created again',
          () => {
            rmSync(tree.path('f'))
            writeFileSync(tree.path('f'), fourBytes[1])
            utimesSync(tree.path('f'), old, old)
          },
          1
        ],
        [
          'replaced by renaming another file of the same size onto it',
          () => renameSync(tree.path('other'), tree.path('f')),
          4
        ],
        ['grown', () => writeFileSync(tree.path('f'), 'a\n', { flag: 'a' }), 5],
        ['cut', () => truncateSync(tree.path('f'), 2), 2],
        ['emptied', () => truncateSync(tree.path('f'), 0), 0],
        ['made binary', () => writeFileSync(tree.path('f'), Buffer.from([0xff])), -1],
        ['grown beyond the limit', () => truncateSync(tree.path('f'), 1_048_577), -1],
        ['of just the limit', () => writeFileSync(tree.path('f'), 'x\n'.repeat(524_288)), 524_288],
        ['small again', () => writeFileSync(tree.path('f'), 'a\rb\r\nc'), 3]
      ]
      utimesSync(tree.path('f'), old, old)
      for (const [title, change, expected] of changes) {
        await untilSettled(tree.path('f'))
        await list(face)
        change()
        t.equal(await linesOf(face), expected, title)
      }
    })

    await t.test('two files that swap their names swap their counts', async (t) => {
      put({ f: fourBytes[1], g: fourBytes[3] })
      await untilSettled(tree.path('g'))
      t.match(await list(face), [{ lines: 1 }, { lines: 3 }])
      for (const [from, to] of [
        ['f', 'h'],
        ['g', 'f'],
        ['h', 'g']
      ] as const)
        renameSync(tree.path(from), tree.path(to))
      t.match(await list(face), [
        { name: 'f', lines: 3 },
        { name: 'g', lines: 1 }
      ])
    })

    await t.test('the count after an edit is the one that edit_file gave', async (t) => {
      put({ f: '' })
      const rounds = lengthOf({ full: 50, short: 8 })
      for (let round = 1; round <= rounds; round += 1) {
        const edits = round % 5 === 0 ? [{ line: 1, operation: 'replace', content: 'x'.repeat(round) }] : []
        const append = round % 3 === 0 ? 'x\ny' : 'x'
        const { new_total_lines } = resultOf(await face.call('edit_file', { name: 'f', edits, append }))
        const [file] = await list(face)
        if (file?.lines === new_total_lines && file?.size === statSync(tree.path('f')).size) continue
        t.fail(`round ${round}: ${show(file)} after ${new_total_lines}`)
      }
      t.equal(await linesOf(face), rounds + Math.floor(rounds / 3))
    })

    await t.test('files that are gone are not listed any more, also while others stay', async (t) => {
      put({ a: '1', b: '2', c: '3' })
      t.strictSame(namesOf(await list(face)), ['a', 'b', 'c'])
      rmSync(tree.path('b'))
      t.strictSame(namesOf(await list(face)), ['a', 'c'])
      put({})
      t.strictSame(await list(face), [])
    })

    await t.test('a link inside the folder is the file that it leads to, for as long as it does', async (t) => {
      put({ f: fourBytes[1], g: fourBytes[4], 'sub/inside': 'a\nb\nc', '.hidden': 'a\nb' })
      symlinkSync('f', tree.path('to-f'))
      symlinkSync(tree.path('to-f'), tree.path('to-link'))
      symlinkSync('sub/inside', tree.path('to-inside'))
      symlinkSync('.hidden', tree.path('to-hidden'))
      symlinkSync('sub', tree.path('to-directory'))
      symlinkSync('nothing', tree.path('to-nothing'))
      symlinkSync('to-itself', tree.path('to-itself'))
      t.match(await list(face), [
        { name: 'f', lines: 1, size: 4 },
        { name: 'g', lines: 4, size: 4 },
        { name: 'to-f', lines: 1, size: 4, readable: true, writable: true },
        { name: 'to-hidden', lines: 2, size: 3 },
        { name: 'to-inside', lines: 3, size: 5 },
        { name: 'to-link', lines: 1, size: 4 }
      ])
      t.equal((await list(face)).length, 6)
      await untilSettled(tree.path('to-itself'))
      await list(face)
      rmSync(tree.path('to-f'))
      symlinkSync('g', tree.path('to-f'))
      writeFileSync(tree.path('sub/inside'), 'a\nbbb')
      t.match(await list(face), [{}, {}, { name: 'to-f', lines: 4 }, {}, { name: 'to-inside', lines: 2 }, { lines: 4 }])
    })

    await t.test('a link that leads out of the folder is not listed, nor one that comes to do so', async (t) => {
      const outside = makeTree(t, { secret: 'a\nb', 'directory/inside': 'a\nb' })
      put({ f: 'x', 'sub/inside': 'a' })
      symlinkSync(outside.path('secret'), tree.path('out'))
      symlinkSync(`../${outside.root.split('/').at(-1)}/secret`, tree.path('out-relative'))
      symlinkSync(outside.path('directory'), tree.path('out-directory'))
      symlinkSync('out-directory/inside', tree.path('out-by-two'))
      symlinkSync('sub/inside', tree.path('in'))
      t.strictSame(namesOf(await list(face)), ['f', 'in'])
      rmSync(tree.path('sub'), { recursive: true })
      symlinkSync(outside.path('directory'), tree.path('sub'))
      t.strictSame(namesOf(await list(face)), ['f'])
    })

    await t.test('a hard link is a file like any other; its other name shows the change too', async (t) => {
      put({ f: fourBytes[1] })
      linkSync(tree.path('f'), tree.path('same'))
      t.match(await list(face), [
        { name: 'f', lines: 1 },
        { name: 'same', lines: 1 }
      ])
      await untilSettled(tree.path('f'))
      await list(face)
      writeFileSync(tree.path('f'), fourBytes[2])
      t.match(await list(face), [
        { name: 'f', lines: 2 },
        { name: 'same', lines: 2 }
      ])
    })

    await t.test('names come in byte order, whatever is in them; read_file takes the plain ones only', async (t) => {
      const names = ['$x', '-x', 'B', 'a', 'a b', 'a\nb', 'a"b', 'a-b', 'a.b', 'ab', '\u00e9', '\uff61', '\u{1f600}']
      put(Object.fromEntries(names.map((name) => [name, 'x\ny'])))
      const files = await list(face)
      t.equal(show(namesOf(files)), show([...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))))
      t.ok(files.every(({ lines }) => lines === 2))
      failsWith(t, await face.call('read_file', { name: 'a b' }), { code: -32602, status: 400, operation: 'read_file' })
    })

    await t.test('a name that is not UTF-8 does not keep the others from being listed', async (t) => {
      put({ f: 'x' })
      const path = Buffer.concat([Buffer.from(`${tree.root}/`), Buffer.from([0x61, 0xff])])
      try {
        writeFileSync(path, 'x')
      } catch {
        return t.comment('skipped: this file system takes UTF-8 names only')
      }
      t.ok(namesOf(await list(face)).includes('f'))
      return unlinkSync(path)
    })

    await t.test('directories, pipes and sockets are no files', async (t) => {
      put({ f: 'x' })
      mkdirSync(tree.path('directory'))
      execFileSync('mkfifo', [tree.path('fifo')])
      const socket = createServer().listen(tree.path('socket'))
      t.teardown(() => socket.close())
      t.strictSame(namesOf(await list(face)), ['f'])
    })

    await t.test('a thousand files are listed with their counts', async (t) => {
      put(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, 'x\n'.repeat(index % 7)])))
      const files = await list(face)
      t.equal(files.length, 1000)
      t.ok(files.every(({ name, lines }) => lines === Number(name.slice(1)) % 7))
    })

    await t.test(
      'what may not be read has no count and what may not be written says so, as soon as the mode changes',
      { skip: withoutPrivilege === undefined && 'root may do everything, and setpriv is not there to take that away' },
      async (t) => checkModes(t, folder)
    )

    await t.test('what the operator protects is not writable', async (t) => {
      put({ 'free.txt': 'x', 'locked.txt': 'x' })
      t.match(await list(face), [{ writable: true }, { name: 'locked.txt', readable: true, writable: false, lines: 1 }])
      const answer = await face.call('edit_file', { name: 'locked.txt', append: 'y' })
      failsWith(t, answer, { code: -32001, status: 403, operation: 'edit_file' })
    })

    await t.test('a link is as writable as what it leads to now, also where two names are one file', async (t) => {
      put({ 'free.txt': 'x' })
      linkSync(tree.path('free.txt'), tree.path('locked.txt'))
      symlinkSync('free.txt', tree.path('link'))
      await untilSettled(tree.path('free.txt'))
      t.match((await list(face))[1], { name: 'link', writable: true })
      rmSync(tree.path('link'))
      symlinkSync('locked.txt', tree.path('link'))
      t.match((await list(face))[1], { name: 'link', writable: false })
    })
  })
}

async function checkModes(t: Test, { face, tree, put }: Awaited<ReturnType<typeof makeFolder>>): Promise<void> {
  put({ f: 'a\nb' })
  await untilSettled(tree.path('f'))
  await list(face)
  for (const [mode, readable, writable] of [
    [0o600, true, true],
    [0o400, true, false],
    [0o000, false, false],
    [0o200, false, true],
    [0o644, true, true]
  ] as const) {
    chmodSync(tree.path('f'), mode)
    const lines = readable ? 2 : -1
    t.match(await list(face), [{ name: 'f', readable, writable, lines }], mode.toString(8))
    await untilSettled(tree.path('f'))
    t.match(await list(face), [{ name: 'f', readable, writable, lines }], `${mode.toString(8)} again`)
  }
  chmodSync(tree.root, 0o500)
  t.match(await list(face), [{ readable: true, writable: false, lines: 2 }], 'in a folder that may not be written')
  const answer = await face.call('edit_file', { name: 'f', append: 'x' })
  failsWith(t, answer, { code: -32001, status: 403, operation: 'edit_file' })
  chmodSync(tree.root, 0o700)
  t.match(await list(face), [{ writable: true }])
}

t.test(
  'a file whose count is known is not read again',
  { skip: !hasIoCounts() && 'needs the counts of /proc' },
  async (t) => {
    const tree = makeTree(t, { f: 'x'.repeat(500_000) })
    const program = startStdio(t, ['--dir', tree.root, '--transport', 'stdio'])
    const face = {
      call: async (name: string, params: object) => ({ result: (await program.call(name, params)).result ?? {} })
    }
    const bytesRead = () =>
      Number(/^rchar: (\d+)$/m.exec(readFileSync(join('/proc', String(program.process.pid), 'io'), 'utf8'))?.[1])
    await untilSettled(tree.path('f'))
    // The first call loads what it needs.
    await program.call('list_files', {})
    chmodSync(tree.path('f'), 0o640)
    await untilSettled(tree.path('f'))
    const start = bytesRead()
    await list(face)
    const afterFirst = bytesRead()
    for (let round = 0; round < 10; round += 1) await list(face)
    t.ok(afterFirst - start >= 500_000, 'the first listing after a change reads it')
    t.ok(bytesRead() - afterFirst < 500_000, 'ten more together do not')
  }
)

// Many file systems stamp changes with a clock of some milliseconds. Here it stands still, and that of the process with it: the second
// change has the stamps of the first.
t.test(
  'a change that the clock of the file system cannot tell is seen, for as long as the stamps are fresh',
  async (t) => {
    const tree = makeTree(t, { f: fourBytes[1] })
    const surveyor = createSurveyor({
      maxFileBytes: 100,
      maxSyncBytes: 100,
      isProtected: () => false,
      hardlinks: 'break'
    })
    const directory = Directory.open(tree.root)
    t.teardown(() => directory.close())
    const stat = directory.stat('f') as BigIntStats
    t.intercept(Date, 'now', { value: () => Number(stat.ctimeMs) })
    const look = async () => {
      const survey = surveyor.begin((bytes) => bytes.toString().split('\n').length)
      await survey.add({ name: 'f', stat, directory, entryName: 'f', path: 'f', isReplaceable: true })
      return survey.finish()[0]?.lines
    }
    t.equal(await look(), 1)
    tree.write('f', fourBytes[2])
    t.equal(await look(), 2)
  }
)

function hasIoCounts(): boolean {
  try {
    return readFileSync('/proc/self/io', 'utf8').includes('rchar')
  } catch {
    return false
  }
}
