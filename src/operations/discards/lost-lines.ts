// Whose uncommitted lines a file would lose, from the versions that the log has of it.
import type { OperationContext } from '../../engine/call/context.ts'
import { diffLines, type Hunk } from '../../engine/diff/hunks.ts'
import { splitLines, splitMark } from '../../engine/diff/lines.ts'
import { hashInTurns } from '../../engine/files/content-hash.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { isMadeBy } from '../../engine/versions/author.ts'
import type { Version } from '../../engine/versions/version.ts'
import { findOwners } from '../blame/owners.ts'
import { keptText } from '../change/kept-version.ts'

/** The lines of others, by their names. */
export type Lost = ReadonlyMap<string, number>

/** Names of those that the log does not tell. */
const before = 'someone before the server knew the file'
const unknown = 'someone unknown'

/** True for an agent, and for changes outside the server. */
export const isAuthor = (name: string): boolean => name !== before && name !== unknown

/** Versions of a file that are compared. */
const maxVersions = 50
/** Of one comparison. */
const bound = { maxEditLength: 2000, timeoutMs: 50 }

const nobody: Lost = new Map()

/** Null for no file, undefined if it cannot be told. */
export type Content = Buffer | null | undefined

export interface Change {
  /** What HEAD has. */
  readonly head: Content
  /** What the command leaves. */
  readonly left: Content
}

/** @returns empty if all uncommitted lines that would go are the agent's own */
export async function findLost(
  context: OperationContext,
  agentId: string,
  path: string,
  { head, left }: Change
): Promise<Lost> {
  const lost = await findLostTo(context, agentId, path, left)
  if (lost.size === 0 || isSame(head, left)) return lost
  // What HEAD has of the lines is committed.
  const uncommitted = await findLostTo(context, agentId, path, head)
  return new Map(
    [...uncommitted].flatMap(([name, lines]) => (lost.has(name) ? [[name, Math.min(lines, lost.get(name)!)]] : []))
  )
}

function isSame(one: Content, other: Content): boolean {
  return one === other || (one instanceof Buffer && other instanceof Buffer && one.equals(other))
}

async function findLostTo(context: OperationContext, agentId: string, path: string, left: Content): Promise<Lost> {
  const { history, config } = context
  const versions = history.versions(path)
  const last = versions.at(-1)
  if (last === undefined) return new Map([[before, 1]])
  const leftHash = left === null ? null : left === undefined ? undefined : await hashInTurns(left)
  if (last.link === undefined && last.isUnread !== true && last.hash === leftHash) return nobody
  const since = versionsSince(versions, leftHash)
  if (since?.every((version) => isMadeBy(version, agentId)) === true) return nobody
  const now = last.hash === null ? null : await keptText(context, path, last.hash)
  const then =
    left === null ? null : left === undefined ? undefined : decodeIfText(left, config.crud.default_encoding, path)
  // Not of lines: whoever has made a version since.
  if (now === undefined || then === undefined || last.link !== undefined) return wholeOf(since, agentId)
  if (now === null) return isMadeBy(last, agentId) ? nobody : new Map([[nameOf(last), linesOf(then ?? '').length]])
  return linesLost(context, agentId, path, { current: now, base: then ?? '', versions })
}

/** The versions after the last one that was what is left; undefined if there is none. */
function versionsSince(versions: readonly Version[], leftHash: string | null | undefined): Version[] | undefined {
  if (leftHash === undefined) return undefined
  const at = versions.findLastIndex(({ hash, link, isUnread }) => hash === leftHash && link === undefined && !isUnread)
  if (at !== -1) return versions.slice(at + 1)
  const [first] = versions
  // What was renamed had lines before.
  const isNew = first?.isCreated === true && first.renamedFrom === undefined
  return leftHash === null && isNew ? [...versions] : undefined
}

function wholeOf(since: readonly Version[] | undefined, agentId: string): Lost {
  const others = since?.filter((version) => !isMadeBy(version, agentId)).map(nameOf) ?? [before]
  return new Map([...new Set(others)].map((name) => [name, 1]))
}

interface Texts {
  readonly current: string
  readonly base: string
  readonly versions: readonly Version[]
}

async function linesLost(
  context: OperationContext,
  agentId: string,
  path: string,
  { current: now, base: then, versions }: Texts
): Promise<Lost> {
  const lost = new Map<string, number>()
  const count = (name: string) => lost.set(name, (lost.get(name) ?? 0) + 1)
  const [base, current] = [linesOf(then), linesOf(now)]
  const { hunks } = diffLines(base, current, bound)
  const { owners } = await findOwners(context, path, now)
  const removed = new Set<number>()
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    for (let line = currentStart; line < currentEnd; line += 1) {
      const owner = owners[line]
      if (typeof owner !== 'object') count(owner === 'before' ? before : unknown)
      else if (!isMadeBy(owner.version, agentId)) count(nameOf(owner.version))
    }
    for (let line = baseStart; line < baseEnd; line += 1) removed.add(line)
  }
  for (const name of await removers(context, path, base, removed, { versions, agentId })) count(name)
  return lost
}

/** Others who have removed these lines of the base: each was made by the oldest version without the line since it was there. */
async function removers(
  context: OperationContext,
  path: string,
  base: readonly string[],
  removed: Set<number>,
  { versions, agentId }: { readonly versions: readonly Version[]; readonly agentId: string }
): Promise<string[]> {
  const names: string[] = []
  const open = new Set(removed)
  for (let at = versions.length - 1; at > 0 && open.size > 0; at -= 1) {
    const [earlier, later] = [versions[at - 1]!, versions[at]!]
    const text =
      earlier.hash === null || versions.length - at > maxVersions
        ? undefined
        : await keptText(context, path, earlier.hash)
    if (text === undefined) break
    const absent = absentLines(diffLines(base, linesOf(text), bound).hunks)
    for (const line of open) {
      if (absent.has(line)) continue
      open.delete(line)
      if (!isMadeBy(later, agentId)) names.push(nameOf(later))
    }
  }
  return [...names, ...Array.from(open, () => before)]
}

function absentLines(hunks: readonly Hunk[]): Set<number> {
  const lines = new Set<number>()
  for (const { baseStart, baseEnd } of hunks) for (let line = baseStart; line < baseEnd; line += 1) lines.add(line)
  return lines
}

function linesOf(text: string): string[] {
  return splitLines(splitMark(text).body)
}

function nameOf({ agentId, agents, isFirstSight }: Version): string {
  if (isFirstSight) return before
  const names = agents ?? [agentId]
  return names.map((name) => (name === 'external' ? 'someone outside' : name)).join(' or ')
}
