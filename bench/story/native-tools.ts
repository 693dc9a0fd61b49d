// The tools that Claude Code has itself, as far as the story needs them: when an edit is stale, what each answers, and what is told beside the answers.
// The forms are those of requests that Claude Code 2.1.197 sent to a stand-in for its model (test/fixtures/model-stand-in.ts) in this very story.
import { structuredPatch } from 'diff'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Tree } from '../../test/fixtures/tree.ts'
import { applied } from './story.ts'

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

export type NativeCall =
  | { readonly tool: 'Read'; readonly input: { readonly file_path: string } }
  | {
      readonly tool: 'Edit'
      readonly input: { readonly file_path: string; readonly old_string: string; readonly new_string: string }
    }
  | { readonly tool: 'Glob'; readonly input: { readonly pattern: string } }
  | { readonly tool: 'Bash'; readonly input: { readonly command: string; readonly description: string } }

/** Claude Code itself looks whether a file is as its model knows it: before an edit, and after each call. */
export function createNativeTools(tree: Tree): (call: NativeCall) => string {
  const known = new Map<string, Known>()

  function read(path: string): string {
    const text = readFileSync(path, 'utf8')
    if (known.get(path)?.text === text) return wasted
    known.set(path, { text, isEdited: false })
    return numbered(text.split('\n'), 1)
  }

  function edit({
    file_path: path,
    old_string: old,
    new_string: next
  }: (NativeCall & { tool: 'Edit' })['input']): string {
    const text = readFileSync(path, 'utf8')
    if (known.get(path)?.text !== text) return refused
    const changed = applied(text, { path, old, next })
    writeFileSync(path, changed)
    known.set(path, { text: changed, isEdited: true })
    return updated(path)
  }

  function answer({ tool, input }: NativeCall): string {
    switch (tool) {
      case 'Read':
        return read(input.file_path)
      case 'Edit':
        return edit(input)
      case 'Glob':
        return tree
          .all()
          .filter((path) => path.includes(input.pattern.replaceAll(/[*/]/g, '')))
          .join('\n')
      case 'Bash':
        break
    }
    const folder = input.command.slice('ls '.length)
    return readdirSync(tree.path(folder)).sort().join('\n')
  }

  function notes(): string[] {
    return [...known].flatMap(([path, { text, isEdited }]) => {
      const now = readFileSync(path, 'utf8')
      if (!isEdited || now === text) return []
      known.set(path, { text: now, isEdited })
      return [noted(path, changesOf(text, now))]
    })
  }

  return (call) => [answer(call), ...notes()].join('\n\n')
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
