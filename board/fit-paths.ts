// Paths in the room that there is: cut in their middle, the end stays, and no two that are shown together look alike. Pure.
import { tailOf } from './names.ts'

export interface Fitted {
  readonly path: string
  /** In characters. */
  readonly room: number
}

const least = 8

export function fitPaths(entries: readonly Fitted[]): string[] {
  const fitted = entries.map(({ path, room }) => ({
    path,
    room: Math.max(least, room),
    text: endOfPath(path, Math.max(least, room))
  }))
  for (const group of alike(fitted)) tellApart(group)
  for (const group of alike(fitted)) numberThem(group)
  return fitted.map(({ text }) => text)
}

interface Entry {
  readonly path: string
  readonly room: number
  text: string
}

/** From the beginning of a folder, unless that leaves much of the room free. */
function endOfPath(path: string, room: number): string {
  if (path.length <= room) return path
  const folder = path.indexOf('/', path.length - room + 1)
  return folder !== -1 && path.length - folder >= room * 0.6 ? `…${path.slice(folder)}` : tailOf(path, room)
}

/** Different paths with one text. */
function alike(entries: readonly Entry[]): Entry[][] {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) groups.set(entry.text, [...(groups.get(entry.text) ?? []), entry])
  return [...groups.values()].filter((group) => new Set(group.map(({ path }) => path)).size > 1)
}

/** By the last folder that is another one in each. */
function tellApart(group: readonly Entry[]): void {
  const folders = group.map(({ path }) => path.split('/').slice(0, -1).toReversed())
  const depth = Math.max(...folders.map(({ length }) => length))
  const paths = new Set(group.map(({ path }) => path)).size
  for (let at = 0; at < depth; at += 1) {
    if (new Set(folders.map((parts) => parts[at] ?? '')).size < paths) continue
    group.forEach((entry, index) => {
      const folder = tailOf(folders[index]?.[at] ?? '.', Math.floor(entry.room / 2))
      const name = entry.path.slice(entry.path.lastIndexOf('/') + 1)
      entry.text = `${folder}/${tailOf(at === 0 ? name : `…/${name}`, entry.room - folder.length - 1)}`
    })
    return
  }
}

function numberThem(group: readonly Entry[]): void {
  const paths = [...new Set(group.map(({ path }) => path))].sort()
  for (const entry of group) {
    const number = ` ·${paths.indexOf(entry.path) + 1}`
    entry.text = `${tailOf(entry.text, entry.room - number.length)}${number}`
  }
}
