// How much of a text one answer shows: the rest comes with further calls, and does not count as seen until then.
import type { Caller } from '../engine/call/context.ts'
import type { DiffFormat } from '../engine/diff/compare.ts'
import type { CompareInput } from '../engine/diff/differ.ts'
import { endFinder } from '../engine/diff/lines.ts'
import { cutPlace } from '../support/cut-text.ts'

/** Room for the members beside the content: a hash, the counts, and how to go on. */
const otherChars = 800
/** Room for content, however long the path is. */
const minContentChars = 200
/** JSON writes a control character as \u0001. */
const maxEscapedChars = 6

/** Characters that the content may have in JSON; undefined if there is no limit. */
export function contentRoom(maxAnswerChars: number | undefined, path: string): number | undefined {
  if (maxAnswerChars === undefined) return undefined
  return Math.max(minContentChars, maxAnswerChars - otherChars - jsonChars(path))
}

/** A difference leaves room for what is said about it: who made it, which changes conflict with it. */
const diffShare = 0.7
const conflictShare = 0.2

/** How a caller is shown a difference. @param chosen by the call */
export function diffFor(
  { takesText = false, maxAnswerChars }: Caller,
  chosen: DiffFormat | undefined
): Pick<CompareInput, 'format' | 'mostBytes'> {
  return { format: chosen ?? (takesText ? 'text' : undefined), mostBytes: diffRoom(maxAnswerChars) }
}

/** Bytes that a difference may have in JSON; undefined if there is no limit of this client's own. */
export function diffRoom(maxAnswerChars: number | undefined): number | undefined {
  return maxAnswerChars === undefined ? undefined : Math.floor(diffShare * maxAnswerChars)
}

/** The same for the conflicts of a merge, which stand beside the difference. */
export function conflictRoom(maxAnswerChars: number | undefined): number | undefined {
  return maxAnswerChars === undefined ? undefined : Math.floor(conflictShare * maxAnswerChars)
}

/** The items at the beginning of a list that fit into an answer, one at least. */
export function itemsThatFit<Item>(items: Item[], maxAnswerChars: number | undefined): Item[] {
  if (maxAnswerChars === undefined) return items
  let left = maxAnswerChars - otherChars
  const end = items.findIndex((item, index) => (left -= JSON.stringify(item).length + 1) < 0 && index > 0)
  return end === -1 ? items : items.slice(0, end)
}

/** Characters of a text within a string of JSON. */
export function jsonChars(text: string): number {
  return JSON.stringify(text).length - 2
}

export function fits(text: string, room: number | undefined): boolean {
  if (room === undefined || text.length * maxEscapedChars <= room) return true
  return text.length <= room && jsonChars(text) <= room
}

/** The lines at the beginning of a text that fit as a whole; `end` is the offset behind them. */
export function linesThatFit(text: string, room: number): { readonly end: number; readonly lines: number } {
  const endOf = endFinder(text)
  let left = room
  let end = 0
  let lines = 0
  while (end < text.length) {
    const next = endOf(text, end)
    if (next - end > left) break
    const chars = jsonChars(text.slice(end, next))
    if (chars > left) break
    left -= chars
    end = next
    lines += 1
  }
  return { end, lines }
}

/** The offset behind the characters at the beginning of a text that fit; no character is cut. */
export function charactersThatFit(text: string, room: number): number {
  let end = Math.min(room, text.length)
  for (;;) {
    const chars = jsonChars(text.slice(0, end))
    if (chars <= room) return cutPlace(text, end)
    end = Math.floor((end * room) / chars)
  }
}

/** Room for the counts of a batch, and for one file at least. */
const summaryChars = 400
const minShareChars = 1500

export type Shares = ReturnType<typeof createShares>

/** Shares one answer among the files of a batch: what a short file leaves goes to those behind it. */
export function createShares(maxAnswerChars: number, files: number) {
  let left = maxAnswerChars - summaryChars
  let filesLeft = files
  return {
    /** Characters of the answer for the next file. */
    next: (): number => Math.max(minShareChars, Math.floor(left / filesLeft)),
    /** Counts the result of a file; true if there is no room for another one. */
    isFullAfter(result: object): boolean {
      left -= JSON.stringify(result).length + 1
      filesLeft -= 1
      return left < minShareChars
    }
  }
}
