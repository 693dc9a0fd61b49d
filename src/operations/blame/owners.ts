// Which version brought each line of a file, from the versions that are kept, over its renames.
import type { OperationContext } from '../../engine/call/context.ts'
import { diffLines } from '../../engine/diff/hunks.ts'
import { splitLines, splitMark } from '../../engine/diff/lines.ts'
import { external } from '../../engine/versions/author.ts'
import type { History } from '../../engine/versions/history.ts'
import type { Version } from '../../engine/versions/version.ts'
import { createSlices } from '../../support/slices.ts'
import { keptText } from '../change/kept-version.ts'

/** What brought a line: a version; nothing that the server has seen; or one of several, whose bytes are not kept. */
export type Owner = { readonly version: Version } | 'before' | 'unknown'

export interface Owned {
  readonly lines: readonly string[]
  readonly owners: readonly Owner[]
}

/** Of one step from a version to the next. */
const bound = { maxEditLength: 2000, timeoutMs: 50 }

/** @param upTo `seq` of the last version that counts */
export async function findOwners(
  context: OperationContext,
  path: string,
  text: string,
  upTo = Infinity
): Promise<Owned> {
  const { history, signal } = context
  const linesOf = (content: string) => splitLines(splitMark(content).body)
  let lines: readonly string[] | undefined
  let owners: Owner[] = []
  const { pause } = createSlices(signal)
  /** Since the last version whose text is kept. */
  let skipped: Version[] = []
  const life = lifeOf(history, path, upTo)
  const sources = sourcesIn(life)
  const wanted = new Set(sources.values())
  const known = new Map<Version, Owned>()
  for (const version of life) {
    if (version.hash === null) continue
    const content = await keptText(context, path, version.hash)
    if (content === undefined) {
      skipped.push(version)
      continue
    }
    await pause()
    const next = linesOf(content)
    const isBefore = lines === undefined && version.isCreated !== true
    const owner: Owner = isBefore ? (skipped.length > 0 ? 'unknown' : 'before') : ownerOf(version, skipped)
    const carried = carry(lines ?? [], owners, next, owner)
    const source = known.get(sources.get(version)!)
    const earlier = source && carry(source.lines, source.owners, next, owner)
    owners = carried.map((one, index) => (one === owner ? (earlier?.[index] ?? owner) : one))
    lines = next
    if (wanted.has(version)) known.set(version, { lines, owners })
    skipped = []
  }
  const now = linesOf(text)
  return {
    lines: now,
    owners: carry(lines ?? [], owners, now, lines === undefined ? 'before' : 'unknown')
  }
}

/** Of a version that has brought earlier lines back, the one that had them: of an undo, and of what other programs have made as it was. */
function sourcesIn(life: readonly Version[]): Map<Version, Version> {
  const sources = new Map<Version, Version>()
  const latest = new Map<string | null, Version>()
  for (const version of life) {
    const { agentId, hash, takesBack = [] } = version
    const first = takesBack.length === 0 ? 0 : life.findIndex(({ seq }) => takesBack.includes(seq))
    const source = first > 0 ? life[first - 1] : agentId === external.agentId ? latest.get(hash) : undefined
    if (source !== undefined) sources.set(version, source)
    latest.set(hash, version)
  }
  return sources
}

/** The versions of the file that is at a path after a version, the oldest first, whatever its names were. */
function lifeOf(history: History, path: string, upTo: number): Version[] {
  const life: Version[] = []
  let name: string | undefined = path
  let entry: number | undefined
  let isFirst = true
  for (let before = upTo + 1; name !== undefined; isFirst = false) {
    // What one change has made counts as made at once, whatever the order of its names.
    const versions: Version[] = history
      .versions(name)
      .filter((version) => version.seq < before && (entry === undefined || version.entry !== entry))
    // The version with which it left this name.
    if (!isFirst && versions.at(-1)?.renamedTo !== undefined) versions.pop()
    let next: string | undefined
    for (const version of versions.toReversed()) {
      if (version.hash === null) return life.reverse()
      life.push(version)
      ;({ seq: before, entry, renamedFrom: next } = version)
      if (version.restores !== undefined) {
        // The file that ended there is back: what was made of its name meanwhile is another one's.
        before = version.restores
        next = pathOf(history, name, version.restores)
      }
      if (next !== undefined) break
      if (version.isCreated === true) return life.reverse()
    }
    name = next
  }
  return life.reverse()
}

/** The path at which a version was made. @param near where it mostly was */
function pathOf(history: History, near: string, seq: number): string | undefined {
  const isAt = (path: string) => history.versions(path).some((version) => version.seq === seq)
  return isAt(near) ? near : history.paths().find(isAt)
}

function ownerOf(version: Version, skipped: readonly Version[]): Owner {
  return skipped.every(({ agentId }) => agentId === version.agentId) ? { version } : 'unknown'
}

/** Lines that stay keep their owner. */
function carry(from: readonly string[], owners: readonly Owner[], to: readonly string[], owner: Owner): Owner[] {
  const carried: Owner[] = []
  let at = 0
  for (const { baseStart, baseEnd, currentStart, currentEnd } of diffLines(from, to, bound).hunks) {
    for (; at < baseStart; at += 1) carried.push(owners[at]!)
    for (let line = currentStart; line < currentEnd; line += 1) carried.push(owner)
    at = baseEnd
  }
  for (; at < from.length; at += 1) carried.push(owners[at]!)
  return carried
}
