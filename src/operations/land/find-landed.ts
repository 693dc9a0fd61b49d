// What the last landings have taken of a file, as the log of HEAD names them.
import { external } from '../../engine/versions/author.ts'
import type { LineageChange } from '../undo/lineages.ts'
import { madeAt, placesLike } from './base.ts'
import type { HeadFile, PastHead } from './file-states.ts'
import type { Maker } from './maker.ts'

export interface Landed {
  /** What HEAD and the tree had before the first of these landings. */
  readonly bytes: Buffer
  /** The first change behind it, or where it came back also what may be that, the newest first. */
  readonly nexts: readonly [number, ...number[]]
  readonly isLanded: (maker: Maker) => boolean
}

/**
 * Undefined if no landing has changed the file since HEAD and the tree were the same, or something else has, such as a reset or a pull.
 * @param past the newest first
 */
export function findLanded(
  changes: readonly LineageChange[],
  head: HeadFile,
  past: readonly PastHead[],
  hashOf: (bytes: Buffer) => string
): Landed | undefined {
  const [first] = changes
  const isExternal = ({ version }: LineageChange) => version.agentId === external.agentId
  const lastExternal = changes.findLastIndex(isExternal)
  const landings: { readonly agent: string; readonly until: number }[] = []
  const isLanded = ({ agentId, isCertain, at = Infinity }: Maker) =>
    isCertain && landings.some(({ agent, until }) => agent === agentId && at <= until)
  const earlier = (hash: string, last: number, from: number) =>
    placesLike({ changes }, (state) => state.kind === 'file' && state.hash === hash)
      .filter((index) => index <= last && madeAt(changes[index]!) > from)
      .reverse()
  let { bytes } = head
  let until = Infinity
  for (const older of [...past, undefined]) {
    if (older?.bytes.equals(bytes) === true) continue
    const [, agent] = /^land: (.*)$/.exec(older?.reason ?? '') ?? []
    const hash = hashOf(bytes)
    // A landing can make HEAD by chance what the file once was: then the next change is older.
    const from = older === undefined || agent === undefined ? -Infinity : older.until
    const isCurrent = (index: number) => (changes[index]?.version.at ?? Infinity) > from
    const last = changes.findLastIndex(
      (change, index) =>
        (index >= lastExternal || !isExternal(change)) &&
        change.path === head.path &&
        change.after.kind === 'file' &&
        change.after.hash === hash &&
        change.version.at <= until &&
        isCurrent(index + 1)
    )
    const isFirst = first?.from === head.path && first.before.kind === 'file' && first.before.hash === hash
    if (last !== -1 || (isFirst && isCurrent(0)))
      return landings.length === 0
        ? undefined
        : { bytes, nexts: [last + 1, ...earlier(hash, last, older?.until ?? -Infinity)], isLanded }
    if (older === undefined || agent === undefined) return undefined
    landings.push({ agent, until: older.until })
    ;({ bytes, until } = older)
  }
  return undefined
}
