// The forms that notes of changes had in earlier versions: read after an upgrade that follows a kill, and never written.
import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { hashNow } from '../files/read-file.ts'
import type { OpenEntry } from '../files/walk.ts'
import { isNotedStep, type Intent, type Mark, type Note, type NotedStep } from './note.ts'
import { readText } from '../../support/read-text.ts'

type Fields = Readonly<Record<string, unknown>>

const unnamed = { agentId: 'unknown', operation: 'unknown' }

function step(path: unknown, staged: unknown, before: unknown, after: unknown): NotedStep {
  return { path, staged, backup: null, before, after } as NotedStep
}

/** @param node with its device, which another host or a restart of the machine gives another number */
function toMark(node: unknown): Mark {
  return String(node).replace(/^\d+/, 'node')
}

/** The note of folders, or of a copy to another file system. @param open the place of an entry; the caller closes it */
export function fromEarlierNote(value: unknown, open: (path: string) => OpenEntry): Note | undefined {
  const { kind, paths, from, to } = (value ?? {}) as Fields
  if (kind === 'folders' && Array.isArray(paths) && paths.every((path) => typeof path === 'string'))
    return { ...unnamed, steps: [], folders: paths }
  if (kind !== 'copy' || typeof from !== 'string' || typeof to !== 'string') return undefined
  // It names no bytes: only two files with the same are a copy that was made.
  const [source, target] = [from, to].map((path) => hashAt(path, open))
  const isCopied = source !== undefined && source === target
  return { ...unnamed, steps: isCopied ? [step(to, null, null, source), step(from, null, source, null)] : [] }
}

function hashAt(path: string, open: (path: string) => OpenEntry): string | undefined {
  let hash: string | undefined
  attempt(() => {
    const place = open(path)
    try {
      hash = place.missing.length > 0 ? undefined : hashNow(place)
    } finally {
      place.close()
    }
  })
  return hash
}

/** @returns undefined for what no version has written */
export function fromEarlierIntent(value: Fields): Intent | undefined {
  const { kind, path, from, to, node, staged, before, after, record } = value
  if (kind === 'transaction') return typeof record === 'string' ? { note: record } : undefined
  const steps = {
    write: [step(path, staged, before, after)],
    delete: [step(path, null, toMark(node), null)],
    rename: [step(from, null, toMark(node), null), step(to, null, null, toMark(node))]
  }[kind as 'write' | 'delete' | 'rename'] as NotedStep[] | undefined
  return steps?.every(isNotedStep) === true ? { steps } : undefined
}

/** A rename through the stage of a host that was lost between its two steps: no name has the file until this ends it. */
export function endEarlierRename(folder: string, name: string, root: string): void {
  const item = join(folder, name.slice(0, -'.json'.length))
  if (!isThere(item)) return
  attempt(() => {
    const { from, to, overwrite } = JSON.parse(readText(join(folder, name))) as Fields
    const [source, target] = [join(root, String(from)), join(root, String(to))]
    const isEnded = (overwrite === true || !isThere(target)) && attempt(() => renameSync(item, target))
    if (!isEnded && !isThere(source)) renameSync(item, source)
  })
  if (isThere(item))
    throw new Error(
      `${item} was being renamed when its host was lost: ${join(folder, name)} says to where. Move it, then start again`
    )
}

function isThere(path: string): boolean {
  return attempt(() => lstatSync(path))
}
