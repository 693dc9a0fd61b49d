// The conflicts of a merge in their wire form: their places in all three texts and, if there is room, the lines there.
import type { MergeConflict } from '../../../schemas/contention.ts'
import type { MergeConflicts, MergeLines, Clash } from './merge-result.ts'
import type { Span } from './regions.ts'

// A conflict takes about this much beside its contents.
const placeBytes = 200

export function describeConflicts(lines: MergeLines, clashes: readonly Clash[], maxBytes: number): MergeConflicts {
  const conflicts = clashes.slice(0, Math.max(1, Math.floor(maxBytes / placeBytes)))
  const further = clashes.length - conflicts.length
  const places = conflicts.map((clash) => describe(clash, () => ({})))
  // Checked before anything is built, so that a hopeless one costs nothing.
  if (leastBytes(lines, conflicts) > maxBytes) return { conflicts: places, further, hasContents: false }
  const full = conflicts.map((clash) => describe(clash, (side, span) => ({ content: contentOf(lines[side], span) })))
  const fits = Buffer.byteLength(JSON.stringify(full)) <= maxBytes
  return { conflicts: fits ? full : places, further, hasContents: fits }
}

function describe(
  clash: Clash,
  contents: (side: 'base' | 'current' | 'incoming', span: Span) => { content?: string }
): MergeConflict {
  const toSide = (side: 'base' | 'current' | 'incoming') => ({
    start_line: clash[side].start + 1,
    end_line: clash[side].end,
    ...contents(side, clash[side])
  })
  return { reason: clash.reason, base: toSide('base'), current: toSide('current'), incoming: toSide('incoming') }
}

/** A lower bound: every code unit of a line takes a byte or more. */
function leastBytes(lines: MergeLines, clashes: readonly Clash[]): number {
  let bytes = 0
  for (const clash of clashes) {
    for (const side of ['base', 'current', 'incoming'] as const) {
      for (let at = clash[side].start; at < clash[side].end; at++) bytes += lines[side][at]!.length
    }
  }
  return bytes
}

function contentOf(lines: readonly string[], { start, end }: Span): string {
  return lines.slice(start, end).join('')
}
