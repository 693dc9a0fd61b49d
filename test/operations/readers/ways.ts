// The ways in which an agent comes to have seen lines of a file, and which lines of the file as it is then it has seen.
import type { Answer } from '../../fixtures/clients.ts'
import type { Tree } from '../../fixtures/tree.ts'
import { hashOf } from '../../fixtures/tree.ts'

const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`)
/** Of the file, before. */
export const content = lines.join('')
const byBob = content.replace('line 30\n', 'by bob\n')

/** A file of its own, and an agent of its own that knows nothing of it. */
export interface Scene {
  readonly tree: Tree
  readonly path: string
  /** The agent in question. Fails unless the answer has the status that is expected, `ok` if none is given. */
  readonly ann: (operation: string, input: object, status?: string) => Promise<Answer>
  readonly bob: (operation: string, input: object) => Promise<Answer>
  /** The agent's harness reports a tool. */
  readonly tool: (
    event: 'PreToolUse' | 'PostToolUse',
    name: string,
    input: object,
    response?: object
  ) => Promise<Answer>
  /** The file over HTTP. */
  readonly http: (method: string, headers: Record<string, string>, body?: string) => Promise<void>
}

export interface Way {
  readonly title: string
  readonly act: (scene: Scene) => Promise<unknown>
  /** First and last lines of what it has seen of the file as it is now. */
  readonly seen: readonly (readonly [number, number])[]
  /** Lines that it has seen as they were before: a change there is news, though it has not seen what is there now. */
  readonly before?: readonly number[]
  /** True if it has said that it knows the whole file: then any change is news. */
  readonly isNamed?: true
  /** If the file has another name now. */
  readonly name?: string
}

const all: Way['seen'] = [[1, 40]]
const read = ({ ann, path }: Scene, offset: number, limit: number) => ann('async_read', { path, offset, limit })
const first = (scene: Scene) => read(scene, 0, 2)
const expected_hash = hashOf(content)
/** An inserted line. */
const mine = [{ old_string: 'line 30\n', new_string: 'line 30\nmine\n' }]
const grep = (found: string) => ({ mode: 'content', numFiles: 1, filenames: [], content: found })

function change({ bob, path }: Scene, from = 'line 30\n', to = 'by bob\n', hash = expected_hash): Promise<Answer> {
  return bob('async_update', { path, expected_hash: hash, patches: [{ old_string: from, new_string: to }] })
}

/** As a native tool does it. */
async function edit({ tree, path, tool }: Scene, old_string: string, new_string: string): Promise<void> {
  const input = { file_path: tree.path(path), old_string, new_string }
  await tool('PreToolUse', 'Edit', input)
  tree.write(path, tree.read(path).replace(old_string, new_string))
  await tool('PostToolUse', 'Edit', input, {})
}

const shown: readonly Way[] = [
  { title: 'a read', act: (scene) => scene.ann('async_read', { path: scene.path }), seen: all },
  { title: 'a range of lines', act: (scene) => read(scene, 9, 3), seen: [[10, 12]] },
  {
    title: 'many ranges',
    async act(scene) {
      for (let line = 0; line < 40; line += 4) await read(scene, line, 1)
    },
    seen: Array.from({ length: 10 }, (_, index) => [4 * index + 1, 4 * index + 1] as const)
  },
  {
    title: 'a part by bytes',
    act: ({ ann, path }) =>
      ann('async_read', {
        path,
        byte_offset: lines.slice(0, 9).join('').length,
        byte_limit: lines.slice(9, 12).join('').length
      }),
    seen: [[10, 12]]
  },
  { title: 'a file over HTTP', act: ({ http }) => http('GET', {}), seen: all },
  {
    title: 'a range of a file over HTTP',
    act: ({ http }) => http('GET', { range: `bytes=0-${lines.slice(0, 3).join('').length - 1}` }),
    seen: [[1, 3]]
  },
  {
    title: 'lines of read_file',
    act: ({ ann, path }) => ann('read_file', { name: path, start_line: 10, end_line: 12 }, ''),
    seen: [[10, 12]]
  },
  {
    title: 'a search',
    act: ({ path, tool }) =>
      tool('PostToolUse', 'Grep', { pattern: '1[12]' }, grep(`${path}:11:line 11\n${path}:12:line 12`)),
    seen: [[11, 12]]
  },
  {
    title: 'a native read',
    act: ({ tree, path, tool }) => {
      const file = {
        filePath: tree.path(path),
        content: 'line 10\nline 11',
        startLine: 10,
        numLines: 2,
        totalLines: 40
      }
      return tool('PostToolUse', 'Read', { file_path: tree.path(path) }, { type: 'text', file })
    },
    seen: [[10, 11]]
  },
  {
    title: 'the difference of a contention',
    async act(scene) {
      await first(scene)
      await change(scene)
      await scene.ann('async_update', { path: scene.path, expected_hash, content: 'x' }, 'contention')
    },
    seen: [
      [1, 2],
      [30, 30]
    ]
  },
  {
    title: 'a difference that was asked for',
    async act(scene) {
      await first(scene)
      await change(scene)
      await scene.ann('async_diff', { path: scene.path, from_hash: expected_hash })
    },
    seen: [
      [1, 2],
      [30, 30]
    ]
  },
  {
    title: 'the difference from a version that it knows',
    async act(scene) {
      await scene.ann('async_read', { path: scene.path })
      await change(scene)
      await scene.ann('async_read', { path: scene.path, known_hash: expected_hash })
    },
    seen: all
  },
  {
    title: 'a notice, which shows nothing',
    async act(scene) {
      await scene.ann('async_read', { path: scene.path })
      await change(scene)
      await scene.ann('lock_status', { filepaths: ['elsewhere'] })
    },
    seen: [
      [1, 29],
      [31, 40]
    ],
    before: [30]
  }
]

const written: readonly Way[] = [
  {
    title: 'the content of an update',
    async act(scene) {
      await first(scene)
      await scene.ann('async_update', { path: scene.path, expected_hash, content: byBob })
    },
    seen: all
  },
  {
    title: 'the content of a write',
    async act({ ann, path }) {
      await ann('async_delete', { path })
      await ann('async_write', { path, content: byBob })
    },
    seen: all
  },
  {
    title: 'the content of a file over HTTP',
    act: ({ http }) => http('PUT', { 'content-type': 'text/plain', 'if-match': `"${expected_hash}"` }, byBob),
    seen: all
  },
  {
    title: 'a line that it puts in',
    async act(scene) {
      await first(scene)
      await scene.ann('async_update', { path: scene.path, expected_hash, patches: mine })
    },
    seen: [
      [1, 2],
      [31, 31]
    ]
  },
  {
    title: 'a line that it puts in a file of which it names the version',
    act: ({ ann, path }) => ann('async_update', { path, expected_hash, patches: mine }),
    seen: [[31, 31]],
    isNamed: true
  },
  {
    title: 'lines that it appends',
    async act(scene) {
      await first(scene)
      await scene.ann('async_append', { path: scene.path, content: 'one\ntwo\n' })
    },
    seen: [
      [1, 2],
      [41, 42]
    ]
  },
  {
    title: 'a merge',
    async act(scene) {
      await first(scene)
      await change(scene, 'line 20\n')
      await scene.ann('async_update', { path: scene.path, expected_hash, patches: mine, on_contention: 'merge' })
    },
    seen: [
      [1, 2],
      [20, 20],
      [31, 31]
    ]
  },
  {
    title: 'a line of edit_file',
    async act(scene) {
      await first(scene)
      const edits = [{ operation: 'insert', line: 31, content: 'mine' }]
      await scene.ann('edit_file', { name: scene.path, edits }, '')
    },
    seen: [
      [1, 2],
      [31, 31]
    ]
  },
  {
    title: 'a batch',
    async act(scene) {
      await first(scene)
      await scene.ann('async_batch_update', { files: [{ path: scene.path, expected_hash, patches: mine }] })
    },
    seen: [
      [1, 2],
      [31, 31]
    ]
  },
  {
    title: 'a transaction',
    async act(scene) {
      await first(scene)
      const changes = [
        { operation: 'update', path: scene.path, expected_hash, patches: mine },
        { operation: 'write', path: `${scene.path}-new`, content: 'x' }
      ]
      await scene.ann('async_transaction', { changes })
    },
    seen: [
      [1, 2],
      [31, 31]
    ]
  },
  {
    title: 'a native edit',
    async act(scene) {
      await first(scene)
      await edit(scene, 'line 30\n', 'line 30\nmine\n')
    },
    seen: [
      [1, 2],
      [31, 31]
    ]
  },
  {
    title: 'a restore, which shows nothing',
    async act(scene) {
      const { hash } = await change(scene)
      await change(scene, 'by bob\n', 'line thirty\n', hash)
      await scene.ann('async_read', { path: scene.path })
      await scene.ann('async_restore', { path: scene.path, hash })
    },
    seen: [
      [1, 29],
      [31, 40]
    ],
    before: [30]
  },
  {
    title: 'an undo, which shows nothing',
    async act(scene) {
      const { hash } = await change(scene)
      await scene.ann('async_read', { path: scene.path })
      await scene.ann('async_undo', { versions: [{ path: scene.path, hash }] })
    },
    seen: [
      [1, 29],
      [31, 40]
    ],
    before: [30]
  },
  {
    title: 'a rename',
    async act(scene) {
      await first(scene)
      await change(scene)
      await scene.ann('async_rename', { old_path: scene.path, new_path: `${scene.path}-new` })
    },
    seen: [[1, 2]],
    name: '-new'
  }
]

export const ways: readonly Way[] = [...shown, ...written]
