// Rules about the version that a change is for: stale ones, merges, and what the contention answer offers.
import { applyPatch } from 'diff'
import type { Answer } from '../../fixtures/clients.ts'
import { hashOfBytes, type Case, type Form, type Options, type Outcome, type Way } from './way.ts'
import { by, ifTakes, why, type Check, type Rule } from './rule.ts'
import { readied } from './standing.ts'

const nothingThere = 'It makes a file: no version is there for which it could be too late.'
const namesNone = 'It names no version: it takes exactly the changes back that it names.'
const noMerge = 'It has no on_contention: there is no text of the caller to be merged.'
const byHook = 'The hook answers a model: a refusal, or the difference as text (the rows about stale versions).'

async function stale(c: Case, line?: number): Promise<string> {
  await c.way.prepare(c)
  await c.seen(c.ann)
  return c.others(line)
}

const isContention: Check = async (c) => {
  const theirs = await stale(c)
  const { item } = await c.makes('contention')
  t(c, item, { expected_hash: hashOfBytes(c.text), current_hash: hashOfBytes(theirs), base_known: true })
  t(c, item['modified_by'], [{ agent_id: c.bob, operation: 'async_update' }])
  c.has(theirs)
  if (c.way.kind === 'move') c.has(undefined, c.other)
}

function t({ t: test }: Case, found: unknown, wanted: unknown): void {
  test.match(found, wanted)
}

const isMerged: Check = async (c) => {
  const theirs = await stale(c)
  const { item } = await c.makes('ok', { merge: true, expected: hashOfBytes(c.text) })
  c.hasAfter(theirs)
  t(c, item, { merged: true, hash: c.hash(), modified_by: [{ agent_id: c.bob }] })
  t(c, JSON.stringify(item['diff']), 'theirs')
}

const isKeptBeside: Check = async (c) => {
  const theirs = await stale(c)
  await c.makes('ok')
  c.hasAfter(theirs)
}

const conflicts: Check = async (c) => {
  const theirs = await stale(c, 10)
  const { item } = await c.makes('contention', { merge: true })
  c.has(theirs)
  t(c, item['merge_conflicts'], [{ reason: 'overlap', base: { start_line: 10 } }])
}

const patchForms: readonly Form[] = ['text', 'lines', 'unified']

/** Each form in which the way takes patches, on a file of its own. */
async function eachForm(c: Case, run: (form: Form) => Promise<void>): Promise<void> {
  for (const form of patchForms.filter((one) => c.way.forms.includes(one))) {
    c.write(c.text)
    await run(form)
  }
}

async function late(c: Case, form: Form, line: number): Promise<Outcome> {
  await stale(c, line)
  return c.makes('contention', { form, format: 'json' })
}

/** True is a guarantee: the same change goes through. */
const offersPatches: Check = (c) =>
  eachForm(c, async (form) => {
    const { item } = await late(c, form, 2)
    // A hunk has its context.
    const [start_line, end_line] = form === 'unified' ? [6, 12] : [10, 10]
    const places = [{ patch_index: 0, start_line, end_line }]
    t(c, item, { patches_applicable: true, conflicts: [], applicable_patches: places, non_conflicting_patches: [0] })
    const theirs = c.read(c.path) as string
    await c.makes('ok', { form, expected: item['current_hash'] as string })
    c.hasAfter(theirs)
  })

const namesConflicts: Check = (c) =>
  eachForm(c, async (form) => {
    const { item } = await late(c, form, 10)
    t(c, item, { patches_applicable: false, conflicts: [{ patch_index: 0 }], applicable_patches: [] })
    t(c, item['message'], form === 'unified' ? /hunks named in conflicts/ : /patches named in conflicts/)
  })

const patchesOnly = (check: Check) => (way: Way) =>
  way.takes.includes('format') && patchForms.some((form) => way.forms.includes(form)) && way.operation !== 'edit_file'
    ? check
    : { reason: 'It takes no patches that could be judged.' }

const unifiedDiff: Check = async (c) => {
  const theirs = await stale(c)
  const { item, text } = await c.makes('contention', { format: 'unified', expected: hashOfBytes(c.text) })
  const diff = text.startsWith('---') ? text : ((item['diff'] as Answer)['content'] as string)
  c.t.equal(applyPatch(c.text, diff), theirs, 'the diff leads to the version that is there')
}

const jsonDiff: Check = async (c) => {
  await stale(c)
  const { item } = await c.makes('contention', { format: 'json', expected: hashOfBytes(c.text), ...noForm(c) })
  const changes = [{ type: 'modified', start_line: 2, end_line: 2, new_content: 'theirs' }]
  t(c, item['diff'], { format: 'json', changes })
}

function noForm({ way }: Case): Options {
  return way.forms.includes('whole') ? { form: 'whole' } : {}
}

/** The hook says the difference as text. */
const refusesByHook: Check = async (c) => {
  const theirs = await stale(c, 10)
  const { text } = await c.makes('refused')
  c.t.equal(applyPatch(c.text, /current one:\n([^]*)\nAdjust/.exec(text)?.[1] ?? ''), theirs, text)
  c.t.match(text, c.bob)
  c.has(theirs)
}

const isThere: Check = async (c) => {
  c.write(c.text)
  await c.makes('FILE_EXISTS')
  c.has(c.text)
}

const overlaps: Check = async (c) => {
  const theirs = await stale(c, 10)
  const { answer } = await c.makes('contention')
  t(c, answer, { undone: 0, conflicts: [{ path: c.path, reason: 'overlap' }] })
  c.has(theirs)
}

/** As few as are taken. */
const digitsOf = (text: string): string => hashOfBytes(text).slice(0, 'sha256:'.length + 12)

const takesDigits: Check = async (c) => {
  await readied(c)
  await c.makes('ok', { expected: digitsOf(c.text), undone: digitsOf(c.text) })
  c.hasAfter(c.text)
}

const takesStaleDigits: Check = async (c) => {
  await takesDigits(c)
  const late = c.of(`${c.text}Another version.\n`)
  const theirs = await stale(late)
  // Lines of a listing have the digits alone.
  const { item } = await late.makes('contention', { expected: digitsOf(late.text).slice('sha256:'.length) })
  t(late, item, { expected_hash: hashOfBytes(late.text), current_hash: hashOfBytes(theirs), base_known: true })
  late.has(theirs)
}

const asksForEntityTag: Check = async (c) => {
  await readied(c)
  await c.makes('INVALID_REQUEST', { expected: digitsOf(c.text) })
  c.has(c.text)
}

export const versionRules: readonly Rule[] = [
  {
    title: 'a stale version is contention, and nothing is changed',
    cells: {
      content: by(isContention),
      create: by(isThere),
      remove: by(isContention),
      move: by(isContention),
      undo: by(overlaps),
      native: by(refusesByHook)
    },
    special: {
      async_append: async (c) => {
        const theirs = await stale(c)
        await c.makes('contention', { expected: hashOfBytes(c.text) })
        c.has(theirs)
        await c.makes('ok')
        c.hasAfter(theirs)
      },
      'transaction: append': async (c) => {
        const theirs = await stale(c)
        await c.makes('contention', { expected: hashOfBytes(c.text) })
        c.has(theirs)
        await c.makes('ok')
        c.hasAfter(theirs)
      }
    }
  },
  {
    title: 'the first 12 digits of its hash name a version; an entity tag is whole',
    cells: {
      content: by(takesStaleDigits),
      create: why(nothingThere),
      remove: by(takesStaleDigits),
      move: by(takesStaleDigits),
      undo: by(takesDigits),
      native: why('The hook knows by itself which version its session has read.')
    },
    special: { PUT: asksForEntityTag, PATCH: asksForEntityTag, DELETE: asksForEntityTag }
  },
  {
    title: 'a stale change of other lines is merged if that is asked for',
    cells: {
      content: ifTakes('merge', isMerged, noMerge),
      create: why(nothingThere),
      remove: why(noMerge),
      move: why(noMerge),
      undo: by(isKeptBeside),
      native: by(isKeptBeside)
    },
    special: { 'hook: Write': { reason: 'It replaces the whole file: it is refused, as the row above shows.' } }
  },
  {
    title: 'a merge that conflicts says where, and changes nothing',
    cells: {
      content: ifTakes('merge', conflicts, noMerge),
      create: why(nothingThere),
      remove: why(noMerge),
      move: why(noMerge),
      undo: why('It always merges: its conflicts are those of the first row.'),
      native: why('Its conflicts are the refusals of the first row.')
    },
    special: {
      async_append: { reason: 'It goes behind any other change: it touches no line.' },
      'transaction: append': { reason: 'It goes behind any other change: it touches no line.' }
    }
  },
  {
    title: 'contention says that patches still apply, where, and they do',
    cells: {
      content: patchesOnly(offersPatches),
      create: why(nothingThere),
      remove: why('It takes no patches that could be judged.'),
      move: why('It takes no patches that could be judged.'),
      undo: why(namesNone),
      native: why(byHook)
    }
  },
  {
    title: 'contention names the patches that conflict',
    cells: {
      content: patchesOnly(namesConflicts),
      create: why(nothingThere),
      remove: why('It takes no patches that could be judged.'),
      move: why('It takes no patches that could be judged.'),
      undo: why(namesNone),
      native: why(byHook)
    }
  },
  {
    title: 'the unified diff of a contention leads to the current version',
    cells: {
      content: ifTakes('format', unifiedDiff, noMerge),
      create: why(nothingThere),
      remove: by(unifiedDiff),
      move: by(unifiedDiff),
      undo: why(namesNone),
      native: why(byHook)
    }
  },
  {
    title: 'the JSON diff of a contention has the changed lines',
    cells: {
      content: ifTakes('format', jsonDiff, noMerge),
      create: why(nothingThere),
      remove: by(jsonDiff),
      move: by(jsonDiff),
      undo: why(namesNone),
      native: why(byHook)
    }
  }
]
