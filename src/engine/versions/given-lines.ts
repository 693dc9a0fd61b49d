// Which lines of its latest version of a file an agent has been given: only for these may an answer say that there is nothing to send.
import { union, type LineRange } from './line-ranges.ts'

export type GivenLines = 'all' | readonly LineRange[]

interface Given {
  readonly hash: string
  readonly lines: GivenLines
}

/** More pieces than an agent reads of one file; beyond it the first pieces are sent again. */
const maxRanges = 100

/** Of one range, in memory. */
const rangeBytes = 48

/** Keyed by view: one agent and one file. Nothing of it survives a restart. */
export function createGivenLines() {
  const byView = new WeakMap<object, Given>()

  /** Undefined if nothing is remembered of this version. */
  function of(view: object, hash: string | null): GivenLines | undefined {
    const given = byView.get(view)
    return given?.hash === hash ? given.lines : undefined
  }

  return {
    of,
    /** Bytes in memory. */
    sizeOf(view: object): number {
      const lines = byView.get(view)?.lines
      return Array.isArray(lines) ? lines.length * rangeBytes : 0
    },
    add(view: object, hash: string, lines: LineRange | undefined): void {
      const known = of(view, hash)
      if (known === 'all') return
      byView.set(view, {
        hash,
        lines: lines === undefined ? 'all' : union([...(known ?? []), lines]).slice(-maxRanges)
      })
    },
    /** The agent knows what differs between two versions: it has the whole of the later one if it had the whole of the earlier one. */
    follow(view: object, from: string, hash: string): void {
      if (from !== hash) byView.set(view, { hash, lines: of(view, from) === 'all' ? 'all' : [] })
    },
    /** The agent has changed a version of which it has only a part. What it has of the new one is not known. */
    unsettle(view: object, from: string | null, hash: string): void {
      if (Array.isArray(of(view, from))) byView.set(view, { hash, lines: [] })
    },
    move(source: object, target: object): void {
      const given = byView.get(source)
      if (given !== undefined) byView.set(target, given)
    }
  }
}
