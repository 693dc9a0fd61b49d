// The patches of Codex and opencode ("*** Begin Patch"): which files they change, and which texts.
import { resolve } from 'node:path'
import type { StringPatch } from '../../../schemas/patches.ts'
import type { FileEdit } from './native-call.ts'

interface Section {
  readonly kind: 'add' | 'update' | 'delete' | 'move'
  readonly path: string
  readonly lines: string[]
}

const headers = [
  ['*** Add File:', 'add'],
  ['*** Update File:', 'update'],
  ['*** Delete File:', 'delete'],
  ['*** Move to:', 'move']
] as const

/** @throws Error if the patch names no file */
export function readPatchText(patch: string | undefined, cwd: string): readonly FileEdit[] {
  const edits = toSections(patch ?? '').flatMap((section) => toEdits(section, cwd))
  if (edits.length === 0) throw new Error('the patch in the hook input names no file')
  return edits
}

/** Headers may be indented. */
function toSections(patch: string): readonly Section[] {
  const sections: Section[] = []
  for (const line of patch.split('\n')) {
    const header = headers.find(([start]) => line.trim().startsWith(start))
    if (header !== undefined)
      sections.push({ kind: header[1], path: line.trim().slice(header[0].length).trim(), lines: [] })
    else if (!line.startsWith('*** ')) lastUpdated(sections)?.lines.push(line)
  }
  return sections
}

/** The lines behind a new name belong to the file that gets it. */
function lastUpdated(sections: readonly Section[]): Section | undefined {
  return sections.findLast(({ kind }) => kind !== 'move')
}

function toEdits({ kind, path: given, lines }: Section, cwd: string): readonly FileEdit[] {
  if (given === '') return []
  const path = resolve(cwd, given)
  if (kind === 'add') return [{ path, content: lines.map((line) => `${line.replace(/^\+/, '')}\n`).join('') }]
  if (kind === 'delete' || kind === 'move') return [{ path }]
  const patches = toHunks(lines).flatMap(toPatch)
  // Without a text to find the place is not known: the whole file counts.
  return [patches.length === 0 ? { path } : { path, patches }]
}

function toHunks(lines: readonly string[]): string[][] {
  const hunks: string[][] = [[]]
  for (const line of lines) {
    if (line.startsWith('@@')) hunks.push([])
    else hunks.at(-1)?.push(line)
  }
  return hunks.filter((hunk) => hunk.length > 0)
}

function toPatch(hunk: readonly string[]): readonly StringPatch[] {
  const side = (other: string) =>
    hunk
      .filter((line) => !line.startsWith(other))
      .map((line) => line.slice(1))
      .join('\n')
  const old_string = side('+')
  return old_string === '' ? [] : [{ old_string, new_string: side('-') }]
}
