// Strings that come again and again, such as names of agents: each kept once, however many records have it.
import { LRUCache } from 'lru-cache'

export interface SharedString {
  readonly text: string
  /** Characters that a record with this string takes beside those that share it. */
  readonly ownLength: number
}

/** @param maxNames beyond it the ones not seen for longest are kept once for each record */
export function createSharedStrings(maxNames = 10_000) {
  const known = new LRUCache<string, string>({ max: maxNames })

  return (text: string): SharedString => {
    const shared = known.get(text)
    if (shared !== undefined) return { text: shared, ownLength: 0 }
    known.set(text, text)
    return { text, ownLength: text.length }
  }
}
