// Every way to change a file, behind one face: the same change of a file through each, by its real transport.
import { createTwoFilesPatch } from 'diff'
import type { Answer } from '../../fixtures/clients.ts'
import { callsOf, sent } from './outcomes.ts'
import { forms, hashOfBytes, replaced, type Case, type Options, type Way } from './way.ts'

const all = ['merge', 'encoding', 'format', 'token'] as const
const ofName = ['format', 'token'] as const

async function there(c: Case): Promise<void> {
  c.write(c.text)
}

/** The version that comes back was there before, and another agent has replaced it. */
async function wasOther(c: Case): Promise<void> {
  c.write(replaced(c.text))
  await c.change('zed', c.path, () => c.text)
}

function changeOf(c: Case, options: Options): Answer {
  const { form = 'text', line = 10, words = 'mine', said = c.said } = options
  const next = replaced(said, options)
  if (form === 'whole') return { content: next }
  if (form === 'unified') return { unified_diff: createTwoFilesPatch('f', 'f', said, next) }
  const patch = { start_line: line, end_line: line, new_content: words }
  const byText = { old_string: `line ${String(line).padStart(2, '0')}.`, new_string: words }
  return { patches: [form === 'lines' ? patch : byText] }
}

function expectedBy({ text }: Case, { expected = hashOfBytes(text) }: Options): { expected_hash?: string } {
  return expected === null ? {} : { expected_hash: expected }
}

/** Of one file, in a batch and in a transaction, too. */
function itemOf(options: Options): Answer {
  const { encoding, token, merge } = options
  return {
    ...(encoding !== undefined && { encoding }),
    ...(token !== undefined && { fencing_token: token }),
    ...(merge === true && { on_contention: 'merge' })
  }
}

function callOf({ format, request }: Options): Answer {
  return {
    ...(format !== undefined && { diff_format: format }),
    ...(request !== undefined && { request_id: request }),
    change_set: 'the task'
  }
}

const inputs = {
  update: (c: Case, options: Options) => ({
    path: c.path,
    ...expectedBy(c, options),
    ...changeOf(c, options),
    ...itemOf(options)
  }),
  write: (c: Case, { words = 'mine', ...options }: Options) => ({
    path: c.path,
    content: `${words}\n`,
    ...itemOf(options)
  }),
  append: (c: Case, { words = 'mine', ...options }: Options) => ({
    path: c.path,
    content: `${words}\n`,
    ...(options.expected !== undefined && expectedBy(c, options)),
    ...itemOf(options)
  }),
  remove: (c: Case, options: Options) => ({ path: c.path, ...expectedBy(c, options), ...itemOf(options) }),
  rename: (c: Case, { overwrite = false, ...options }: Options) => ({
    old_path: c.path,
    new_path: c.other,
    overwrite,
    ...expectedBy(c, options),
    ...itemOf(options)
  }),
  moved: (c: Case, options: Options) => {
    const { old_path, ...input } = inputs.rename(c, options)
    return { path: old_path, ...input }
  }
}

const content = { kind: 'content', prepare: there, after: replaced, forms } as const
const create = {
  kind: 'create',
  prepare: async () => {},
  after: (_text: string, { words = 'mine' }: Options) => `${words}\n`,
  forms: [],
  takes: ['encoding', 'token']
} as const
const gone = { prepare: there, after: () => undefined, forms: [], takes: ofName } as const
const append = {
  ...content,
  forms: [],
  takes: all,
  after: (text: string, { words = 'mine' }: Options) => `${text}${words}\n`
} as const

const { single, batch, transaction } = callsOf(callOf)
const { put, patch, remove, edit, native } = sent

export const ways = {
  async_update: { ...content, ...single('async_update', inputs.update), takes: all },
  async_write: { ...create, ...single('async_write', inputs.write) },
  async_append: { ...append, ...single('async_append', inputs.append) },
  async_rename: { ...gone, kind: 'move', ...single('async_rename', inputs.rename) },
  async_delete: { ...gone, kind: 'remove', ...single('async_delete', inputs.remove) },
  async_restore: {
    ...content,
    prepare: wasOther,
    forms: [],
    takes: ofName,
    ...single('async_restore', (c, options) => ({
      path: c.path,
      hash: hashOfBytes(replaced(c.text)),
      expected_hash: options.expected === undefined ? hashOfBytes(c.text) : options.expected,
      ...itemOf(options)
    }))
  },
  'batch write': { ...create, ...batch('async_batch_write', inputs.write, false) },
  'batch write, atomic': { ...create, ...batch('async_batch_write', inputs.write, true) },
  'batch update': { ...content, ...batch('async_batch_update', inputs.update, false), takes: all },
  'batch update, atomic': { ...content, ...batch('async_batch_update', inputs.update, true), takes: all },
  'transaction: update': { ...content, ...transaction('update', inputs.update), takes: all },
  'transaction: write': { ...create, ...transaction('write', inputs.write) },
  'transaction: append': { ...append, ...transaction('append', inputs.append) },
  'transaction: delete': { ...gone, kind: 'remove', ...transaction('delete', inputs.remove) },
  'transaction: rename': { ...gone, kind: 'move', ...transaction('rename', inputs.moved) },
  async_undo: {
    ...content,
    kind: 'undo',
    prepare: wasOther,
    forms: [],
    takes: [],
    ...single('async_undo', ({ path, text }, { undone = hashOfBytes(text) }) => ({
      versions: [{ path, hash: undone }]
    }))
  },
  edit_file: {
    ...content,
    operation: 'edit_file',
    forms: ['lines'],
    takes: ['merge', 'format', 'token'],
    make: edit(expectedBy, (options) => ({ ...itemOf(options), ...callOf(options) }))
  },
  PUT: {
    ...content,
    operation: 'async_update',
    forms: ['whole'],
    takes: ['merge', 'format'],
    make: put
  },
  PATCH: {
    ...content,
    operation: 'async_update',
    takes: all,
    make: patch((c, options) => ({ ...changeOf(c, options), ...itemOf({ ...options, merge: false }) }))
  },
  DELETE: { ...gone, kind: 'remove', operation: 'async_delete', takes: ['format'], make: remove },
  'hook: Edit': {
    ...content,
    kind: 'native',
    operation: 'native_edit',
    forms: ['text'],
    takes: [],
    make: native('Edit')
  },
  'hook: Write': {
    ...content,
    kind: 'native',
    operation: 'native_edit',
    forms: ['whole'],
    takes: [],
    make: native('Write')
  }
} satisfies Record<string, Way>

export type WayName = keyof typeof ways
