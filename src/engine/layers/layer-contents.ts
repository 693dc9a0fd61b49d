// What a command has written and removed, as the layer holds it: read beside the tree as it is now.
import type { BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { createSlices, type Pause } from '../../support/slices.ts'
import { Directory } from '../files/directory.ts'
import { isIgnored, readIgnoreRules, type IgnoreRules } from '../files/ignore-rules.ts'
import { isOwnName } from '../files/protection.ts'
import { readFolder, typeOf, type EntryType, type FolderEntry } from '../files/read-folder.ts'
import type { IgnoredPaths } from './ignored-paths.ts'

export interface LayerEntry {
  /** In the tree. */
  readonly path: string
  /** `none`: the command has removed it. */
  readonly what: 'file' | 'link' | 'none'
  /** Where the layer has it. */
  readonly upper: string
  /** Of a file: permission bits. */
  readonly mode: number
  /** Of a file, in bytes. */
  readonly size: number
  /** When the command last wrote it, in milliseconds since the epoch: of what came later, it has seen nothing there. */
  readonly writtenAt: number
}

export interface IgnoredEntry {
  readonly path: string
  readonly upper: string
}

export interface LayerContents {
  readonly entries: LayerEntry[]
  /** Files and whole folders that go over without versions. Nothing of the layer at `upper`: it was removed. */
  readonly ignored: IgnoredEntry[]
  /** Folders that the command has made, outermost first. */
  readonly made: string[]
  /** Of folders that it has made, or whose mode it has changed, outermost first. */
  readonly modes: { readonly path: string; readonly mode: number }[]
  /** That it has removed, innermost first. */
  readonly removed: string[]
  /** Pipes, sockets, devices, and names that are no text: they stay behind. */
  readonly left: string[]
}

interface Scope {
  /** Path below the root, with `/` behind it. */
  readonly way: string
  /** In the tree. */
  readonly path: string
  readonly upper: string
  readonly rules: readonly IgnoreRules[]
  /** True below an ignored folder. */
  readonly isIgnored: boolean
}

/**
 * Adds what the layer of one root holds.
 * @param hidden see `LayerEnd.hidden`
 */
export async function readContents(
  contents: LayerContents,
  { root, upper }: { root: string; upper: string },
  { ignored, hidden, signal }: { ignored: IgnoredPaths; hidden: ReadonlySet<string>; signal: AbortSignal }
): Promise<void> {
  const top = Directory.open(upper)
  const live = Directory.open(root)
  try {
    const scope = { way: '', path: root, upper, rules: ignored.rules, isIgnored: false }
    await new Reader(contents, ignored, hidden, createSlices(signal).pause).read(top, live, scope)
  } finally {
    live.close()
    top.close()
  }
}

class Reader {
  readonly #contents: LayerContents
  readonly #ignored: IgnoredPaths
  readonly #hidden: ReadonlySet<string>
  readonly #pause: Pause

  constructor(contents: LayerContents, ignored: IgnoredPaths, hidden: ReadonlySet<string>, pause: Pause) {
    this.#contents = contents
    this.#ignored = ignored
    this.#hidden = hidden
    this.#pause = pause
  }

  /** @param live the same folder of the tree, if that has one */
  async read(upper: Directory, live: Directory | undefined, given: Scope): Promise<void> {
    const entries = await readFolder(upper)
    const scope = { ...given, rules: [...given.rules, ...this.#rulesIn(upper, live, given, entries)] }
    const names = new Set<string>()
    for (const { name, type } of entries) {
      names.add(name)
      await this.#pause()
      const stat = upper.stat(name)
      if (stat === undefined || isOwnName(name)) continue
      if (!name.isWellFormed()) this.#contents.left.push(join(scope.path, name))
      else if (isWhiteout(stat)) await this.#remove(live, name, scope)
      else await this.#take(upper, live, { name, type, stat }, scope)
    }
    if (live === undefined || !this.#hidden.has(scope.path)) return
    for (const { name } of await readFolder(live)) if (!names.has(name)) await this.#remove(live, name, scope)
  }

  async #take(
    upper: Directory,
    live: Directory | undefined,
    { name, type, stat }: { name: string; type: EntryType; stat: BigIntStats },
    scope: Scope
  ): Promise<void> {
    const { entries, ignored, left } = this.#contents
    const path = join(scope.path, name)
    const place = join(scope.upper, name)
    const isOut = this.#isIgnored(path, name, type, scope)
    if (type === 'other') left.push(path)
    else if (isOut && (type !== 'directory' || !this.#ignored.hasExceptionBelow(path)))
      ignored.push({ path, upper: place })
    else if (type === 'directory') await this.#enter(upper, live, { name, stat, isOut }, scope)
    else {
      const before = live?.stat(name)
      if (before?.isDirectory() === true) await this.#remove(live, name, scope)
      const mode = Number(stat.mode) & 0o7777
      const writtenAt = Number(stat.ctimeNs / 1_000_000n)
      const what = type === 'file' ? 'file' : 'link'
      entries.push({ path, what, upper: place, mode, size: Number(stat.size), writtenAt })
    }
  }

  async #enter(
    upper: Directory,
    live: Directory | undefined,
    { name, stat, isOut }: { name: string; stat: BigIntStats; isOut: boolean },
    scope: Scope
  ): Promise<void> {
    const { made, modes } = this.#contents
    const path = join(scope.path, name)
    const place = join(scope.upper, name)
    const mode = Number(stat.mode) & 0o7777
    const before = live?.stat(name)
    const isThere = before?.isDirectory() === true
    if (!isThere) made.push(path)
    if (!isThere && before !== undefined) this.#addRemoved(path, place)
    if (!isThere || (Number(before.mode) & 0o7777) !== mode) modes.push({ path, mode })
    const inside = upper.openChild(name)
    const liveInside = isThere ? orUndefined(() => live?.openChild(name)) : undefined
    try {
      await this.read(inside, liveInside, {
        ...scope,
        way: `${scope.way}${name}/`,
        path,
        upper: place,
        isIgnored: isOut
      })
    } finally {
      liveInside?.close()
      inside.close()
    }
  }

  /** What is there of it now, with all that is in it. */
  async #remove(live: Directory | undefined, name: string, scope: Scope): Promise<void> {
    await this.#pause()
    const stat = live?.stat(name)
    if (live === undefined || stat === undefined || isOwnName(name)) return
    const { ignored, removed, left } = this.#contents
    const path = join(scope.path, name)
    const place = join(scope.upper, name)
    const type = typeOf(stat)
    const isOut = this.#isIgnored(path, name, type, scope)
    if (!name.isWellFormed() || type === 'other') left.push(path)
    else if (isOut && (type !== 'directory' || !this.#ignored.hasExceptionBelow(path)))
      ignored.push({ path, upper: place })
    else if (type !== 'directory') this.#addRemoved(path, place)
    else {
      const inside = live.openChild(name)
      try {
        const below = await readFolder(inside)
        const own = readIgnoreRules(inside, `${this.#ignored.base}${scope.way}${name}/`, below)
        const rules = [...scope.rules, ...own]
        const next = { way: `${scope.way}${name}/`, path, upper: place, rules, isIgnored: isOut }
        for (const entry of below) await this.#remove(inside, entry.name, next)
      } finally {
        inside.close()
      }
      removed.push(path)
    }
  }

  /** Until the end of the command: when it has removed a file is not known. */
  #addRemoved(path: string, upper: string): void {
    this.#contents.entries.push({ path, what: 'none', upper, mode: 0, size: 0, writtenAt: Infinity })
  }

  #isIgnored(path: string, name: string, type: EntryType, scope: Scope): boolean {
    const relative = `${this.#ignored.base}${scope.way}${name}`
    return (scope.isIgnored || isIgnored(scope.rules, relative, type)) && !this.#ignored.isException(path)
  }

  /** As the command has left them. */
  #rulesIn(upper: Directory, live: Directory | undefined, { way }: Scope, entries: readonly FolderEntry[]) {
    const prefix = `${this.#ignored.base}${way}`
    const own = entries.find(({ name }) => name === '.gitignore')
    if (own !== undefined) return readIgnoreRules(upper, prefix, entries)
    return live === undefined ? [] : readIgnoreRules(live, prefix, [{ name: '.gitignore', type: 'file' }])
  }
}

/** How an overlay notes that a name of the tree is gone. */
export function isWhiteout(stat: BigIntStats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0n
}
