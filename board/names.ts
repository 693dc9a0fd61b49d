// Short names of agents: unique among all that the page knows. Pure, but for the last of them, which all views share.
import { cutPlace } from '../src/support/cut-text.ts'

/** Longer ones are shortened. */
const maxLength = 22
/** Of an identifier so much is shown at least. */
const leastOfId = 4
const mostOfId = 8

const harnesses: Readonly<Record<string, string>> = { 'claude-code': 'claude', external: 'outside' }

/** `claude-code/7f3a5c0e-…` becomes `claude 7f3a`, or longer, if another one begins alike. */
export function shortNames(names: readonly string[]): ReadonlyMap<string, string> {
  const ids = shortIds(names)
  const shown = new Map<string, string>()
  const taken = new Map<string, number>()
  for (const name of [...names].sort()) {
    const text = shortOf(name, ids)
    const count = (taken.get(text) ?? 0) + 1
    taken.set(text, count)
    shown.set(name, count === 1 ? text : `${text} ·${count}`)
  }
  return shown
}

function shortOf(name: string, ids: ReadonlyMap<string, string>): string {
  const [first = '', ...others] = name.split('/')
  const harness = harnesses[first] ?? first
  if (others.length === 0) return middleOf(harness, maxLength)
  const parts = others.map((_, index) => ids.get(pathOf(name, index + 2)) ?? '')
  return middleOf(`${harness} ${parts.join('/')}`, maxLength)
}

const pathOf = (name: string, parts: number): string => name.split('/').slice(0, parts).join('/')

/** Of each part behind the first: the shortest beginning, or end, that no other part at its place has. */
function shortIds(names: readonly string[]): ReadonlyMap<string, string> {
  const places = new Map<string, Set<string>>()
  for (const name of names)
    for (let parts = 2; parts <= name.split('/').length; parts += 1) {
      const place = pathOf(name, parts - 1)
      places.set(place, (places.get(place) ?? new Set()).add(pathOf(name, parts).slice(place.length + 1)))
    }
  const ids = new Map<string, string>()
  for (const [place, siblings] of places)
    for (const [id, shown] of shortest([...siblings])) ids.set(`${place}/${id}`, shown)
  return ids
}

function shortest(siblings: readonly string[]): Map<string, string> {
  const beginnings = uniqueParts(siblings, (id, length) => id.slice(0, length))
  const ends = uniqueParts(siblings, (id, length) => `…${id.slice(-length)}`)
  return new Map(
    siblings.map((id) => [id, id.length <= mostOfId ? id : (beginnings.get(id) ?? ends.get(id) ?? middleOf(id, 12))])
  )
}

/** Those that differ within the first, or last, few characters. */
function uniqueParts(ids: readonly string[], partOf: (id: string, length: number) => string): Map<string, string> {
  const found = new Map<string, string>()
  let left = ids
  for (let length = leastOfId; length <= mostOfId && left.length > 0; length += 1) {
    const counts = new Map<string, number>()
    for (const id of ids) counts.set(partOf(id, length), (counts.get(partOf(id, length)) ?? 0) + 1)
    for (const id of left) if (counts.get(partOf(id, length)) === 1) found.set(id, partOf(id, length))
    left = left.filter((id) => !found.has(id))
  }
  return found
}

/** Cut in its middle, a little more of its end. */
export function middleOf(text: string, most: number): string {
  if (text.length <= most) return text
  const head = Math.floor((most - 1) * 0.4)
  return `${text.slice(0, cutPlace(text, head))}…${endOf(text, most - 1 - head)}`
}

const endOf = (text: string, length: number): string => text.slice(cutPlace(text, text.length - length))

/** The end, with a mark if it is not all. */
export const tailOf = (text: string, most: number): string =>
  text.length <= most ? text : `…${endOf(text, Math.max(1, most - 1))}`

let known: ReadonlyMap<string, string> = new Map()

/** Of all names that the page knows: none is shown before all are. */
export function knowNames(names: readonly string[]): void {
  if (names.length !== known.size || names.some((name) => !known.has(name))) known = shortNames(names)
}

export const nameOf = (name: string): string => known.get(name) ?? [...shortNames([name]).values()][0] ?? name
