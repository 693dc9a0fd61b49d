// Rules about the text of a change: its forms, encodings, byte order marks and line ends.
import { readied } from './standing.ts'
import { forms, replaced, type Case, type Form, type Options, type Way } from './way.ts'
import { lstatSync } from 'node:fs'
import { by, ifTakes, why, type Check, type Rule } from './rule.ts'

const noText = 'It says no text: the bytes are those that are there already.'
const titles: Readonly<Record<Form, string>> = {
  text: 'a change by text',
  lines: 'a change by lines',
  unified: 'a change by a unified diff',
  whole: 'a change by the whole content'
}

const takes =
  (form: Form) =>
  (way: Way): Check | { reason: string } =>
    way.forms.includes(form) ? (c) => madeAs(c, { form }) : { reason: `It does not take ${titles[form]}.` }

async function madeAs(c: Case, options: Options): Promise<void> {
  await c.way.prepare(c)
  await c.seen(c.ann)
  const { item } = await c.makes('ok', options)
  c.hasAfter(c.text, options)
  if (item['hash'] !== undefined) c.t.equal(item['hash'], c.hash())
}

const formRule = (form: Form): Rule => ({
  title: `${titles[form]} is made to the byte`,
  cells: {
    content: takes(form),
    create: why('It makes a file of the content that it is given.'),
    remove: why(noText),
    move: why(noText),
    undo: why('It takes no text: it knows what was there.'),
    native: takes(form)
  }
})

/** One letter is one byte in ISO 8859-1, which is no UTF-8. */
async function inLatin(c: Case): Promise<Case> {
  const latin = c.of(c.text.replace('line 03.', 'stra\u00dfe'))
  if (c.way.kind !== 'create') await readied(latin)
  return latin
}

const keepsBytes: Check = async (c) => {
  const latin = await inLatin(c)
  await latin.makes('ok')
  latin.hasAfter(latin.text)
}

const refusesBytes: Check = async (c) => {
  const latin = await inLatin(c)
  await latin.makes('ENCODING_ERROR')
  latin.has(latin.text)
}

/** A letter is written that is another byte in this encoding. */
const writesEncoded: Check = async (c) => {
  const latin = await inLatin(c)
  const options = { encoding: 'latin1', words: '\u00e4' }
  await latin.makes('ok', options)
  latin.has(c.way.after(latin.text, options))
}

const keepsMark: Check = async (c) => {
  const said = c.text.replaceAll('\n', '\r\n')
  for (const form of c.way.forms.length === 0 ? [undefined] : c.way.forms) {
    const marked = c.of(`\u00ef\u00bb\u00bf${said}`, said)
    await c.way.prepare(marked)
    await marked.makes('ok', { form })
    marked.hasAfter(marked.text)
  }
}

/** The same words that are there already. */
const changesNothing: Check = async (c) => {
  await c.way.prepare(c)
  await c.seen(c.carl)
  const before = lstatSync(c.world.tree.path(c.path), { bigint: true })
  const { item } = await c.makes('ok', { words: 'line 10.' })
  if (item['changed'] !== undefined) c.t.equal(item['changed'], false)
  c.has(c.text)
  const { ino, mtimeNs } = lstatSync(c.world.tree.path(c.path), { bigint: true })
  c.t.same([ino, mtimeNs], [before.ino, before.mtimeNs], 'nothing is written')
  const { versions } = await c.must(c.carl, 'async_history', { path: c.path })
  c.t.not(versions[0].agent_id, c.ann, 'no version is made')
}

const nameOnly = 'It says no text, and takes any bytes (the row above).'

export const textRules: readonly Rule[] = [
  ...forms.map(formRule),
  {
    title: 'what is not text in the encoding of the call is refused, or kept to the byte',
    cells: {
      content: by(refusesBytes),
      create: why('It makes a file: no bytes are there.'),
      remove: by(keepsBytes),
      move: by(keepsBytes),
      undo: by(keepsBytes),
      native: by(keepsBytes)
    },
    special: {
      async_restore: keepsBytes,
      PUT: keepsBytes
    }
  },
  {
    title: 'the encoding that a call names is that of the bytes',
    cells: {
      content: ifTakes('encoding', writesEncoded, 'It takes no encoding: UTF-8, or bytes as they are.'),
      create: ifTakes('encoding', writesEncoded, 'It takes no encoding: UTF-8, or bytes as they are.'),
      remove: why(nameOnly),
      move: why(nameOnly),
      undo: why(nameOnly),
      native: why('The tool decodes by itself.')
    }
  },
  {
    title: 'a change to what is there already writes nothing, and makes no version',
    cells: {
      content: by(changesNothing),
      create: why('It makes a file where none is.'),
      remove: why(noText),
      move: why(noText),
      undo: why('What is taken back already is no change any more: the row about undo and redo.'),
      native: why('The tool writes by itself.')
    },
    special: {
      async_append: { reason: 'It always adds.' },
      'transaction: append': { reason: 'It always adds.' },
      async_restore: async (c) => {
        await c.way.prepare(c)
        await c.change('zed', c.path, (now) => replaced(now))
        const { item } = await c.makes('ok', { expected: c.hash() })
        c.t.equal(item['changed'], false)
        const { versions } = await c.must(c.carl, 'async_history', { path: c.path })
        c.t.equal(versions[0].agent_id, 'zed')
      }
    }
  },
  {
    title: 'a byte order mark and the line ends stay',
    cells: {
      content: by(keepsMark),
      create: why('It makes a file of the content that it is given.'),
      remove: why(nameOnly),
      move: by(keepsMark),
      undo: by(keepsMark),
      native: why('The tool decides.')
    },
    special: {
      PUT: { reason: 'The file then has the very bytes of the body, as its page says.' }
    }
  }
]
