// The tools that Claude Code has itself, as far as the story needs them: when an edit is stale, what each answers, and what is told beside the answers.
// The forms are those of requests that Claude Code 2.1.197 sent to a stand-in for its model (test/fixtures/model-stand-in.ts) in this very story.
import { structuredPatch } from 'diff'
import type { Tree } from '../../test/fixtures/tree.ts'
import { applied, type Edit } from './story.ts'

export const nativeClient = 'Claude Code 2.1.197'

const refused =
  '<tool_use_error>File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.</tool_use_error>'
/** To a Read of what the note below has told already. */
const wasted = 'Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.'
const updated = (path: string) =>
  `The file ${path} has been updated successfully. (file state is current in your context — no need to Read it back)`
const numbered = (lines: readonly string[], first: number) =>
  lines.map((line, at) => `${first + at}\t${line}`).join('\n')
/** After the answer of any tool, about each file that was read and that something else has changed. */
const noted = (path: string, changes: string) =>
  `Note: ${path} was modified, either by the user or by a linter. This change was intentional, so make sure to take it into account as you proceed (ie. don't revert it unless the user asks you to). Don't tell the user this, since they are already aware. Here are the relevant changes (shown with line numbers):\n${changes}`
const contextLines = 8
/** Of a longer file it does not remember what its model knows: the note shows all of it, to this number of characters. */
const rememberedLength = 4096
const noteLength = 8192

/** What the model knows of a file. Only one that it has edited is looked at after each call. */
interface Known {
  readonly text: string
  readonly isEdited: boolean
}

/** Claude Code itself looks whether a file is as its model knows it: before an edit, and after each call. */
export function createNativeTools(tree: Tree, tell: (wrote: string, read: string) => void) {
  const known = new Map<string, Known>()

  function use(tool: string, input: object, answer: string): void {
    const notes = [...known].flatMap(([path, { text, isEdited }]) => {
      const now = tree.read(path)
      if (!isEdited || now === text) return []
      known.set(path, { text: now, isEdited })
      return [noted(tree.path(path), changesOf(text, now))]
    })
    tell(`${tool} ${JSON.stringify(input)}`, [answer, ...notes].join('\n\n'))
  }

  function read(path: string): void {
    const text = tree.read(path)
    const isWasted = known.get(path)?.text === text
    if (!isWasted) known.set(path, { text, isEdited: false })
    use('Read', { file_path: tree.path(path) }, isWasted ? wasted : numbered(text.split('\n'), 1))
  }

  /** @returns whether it was made */
  function edit({ path, old, next }: Edit): boolean {
    const text = tree.read(path)
    const isCurrent = known.get(path)?.text === text
    if (isCurrent) {
      const changed = applied(text, { path, old, next })
      tree.write(path, changed)
      known.set(path, { text: changed, isEdited: true })
    }
    const file_path = tree.path(path)
    use('Edit', { file_path, old_string: old, new_string: next }, isCurrent ? updated(file_path) : refused)
    return isCurrent
  }

  return { use, read, edit }
}

/** The lines that are there now, with some around them. */
function changesOf(before: string, after: string): string {
  const base = before.length > rememberedLength ? '' : before
  const { hunks } = structuredPatch('', '', base, after, '', '', { context: contextLines })
  const shown = hunks.map(({ newStart, lines }) => {
    const there = lines.filter((line) => !/^[-\\]/.test(line)).map((line) => line.slice(1))
    return numbered(there, newStart)
  })
  return cut(shown.join('\n...\n'))
}

function cut(text: string): string {
  const end = text.lastIndexOf('\n', noteLength)
  if (text.length <= noteLength) return text
  return `${text.slice(0, end)}\n\n... [${text.slice(end + 1).split('\n').length} lines truncated] ...`
}
