// The edits of the swarm: each puts a unique marker at a random line, by a patch with as much context as makes it unique.
import type { StringPatch } from '../../../schemas/patches.ts'
import type { Random } from '../../fixtures/random.ts'
import { markerPattern } from './protocol.ts'

export type Edit = { readonly patches: readonly StringPatch[] } | { readonly content: string }

/** Lines near the start are edited more often, so that patches of different clients really meet. */
const crowding = 3
const wholeShare = 0.1
const replaceShare = 0.2
const extendShare = 0.3

export function craftEdit(text: string, marker: string, random: Random): Edit {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const at = Math.floor(lines.length * random() ** crowding)
  const edited = editLine(lines[at] ?? '', marker, random())
  if (random() < wholeShare) return { content: [...lines.slice(0, at), edited, ...lines.slice(at + 1)].join('') }
  return { patches: [uniquePatch(text, lines, at, edited)] }
}

/** @throws Error where a patch does not occur exactly once */
export function applyEdit(text: string, edit: Edit): string {
  if ('content' in edit) return edit.content
  return edit.patches.reduce((text, { old_string, new_string }) => {
    const at = text.indexOf(old_string)
    if (at === -1 || !isUnique(text, old_string))
      throw new Error('the patch does not fit the text that the client knows')
    return text.slice(0, at) + new_string + text.slice(at + old_string.length)
  }, text)
}

/** Replaces the line, extends it, or puts one behind it. Somebody else's marker always stays. */
function editLine(line: string, marker: string, choice: number): string {
  const hasMarker = line.search(markerPattern) !== -1
  if (choice < replaceShare && !hasMarker) return `// ${marker}\n`
  if (choice < replaceShare + extendShare) return `${line.replace(/\n$/, '')} // ${marker}\n`
  return `${line}// ${marker}\n`
}

function uniquePatch(text: string, lines: readonly string[], at: number, edited: string): StringPatch {
  let [start, end] = [at, at + 1]
  while (!isUnique(text, lines.slice(start, end).join(''))) {
    start = Math.max(0, start - 1)
    end = Math.min(lines.length, end + 1)
  }
  return {
    old_string: lines.slice(start, end).join(''),
    new_string: [...lines.slice(start, at), edited, ...lines.slice(at + 1, end)].join('')
  }
}

function isUnique(text: string, part: string): boolean {
  return text.indexOf(part) === text.lastIndexOf(part)
}
