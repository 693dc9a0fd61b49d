// The automaton of a glob: all its states are run at once, as bits of words, so that no pattern takes longer than its length times the name's.

/** Code points, both ends included. */
export type Ranges = readonly (readonly [from: number, to: number])[]

/** A state either consumes one character and goes to `next`, or goes to `next` and `other` without consuming. */
export interface State {
  readonly accepts?: Ranges
  next: number
  other?: number
}

export interface Automaton {
  readonly matches: (text: string) => boolean
  /** Whether more text behind this one can make a match. */
  readonly reaches: (text: string) => boolean
  /** What each character costs at most: operations on words of 32 states. */
  readonly steps: number
}

/** @param states begins with the first one; the last one consumes nothing, and a run that ends there has matched */
export function createAutomaton(states: readonly State[]): Automaton {
  const consuming = states.flatMap(({ accepts }, index) => (accepts === undefined ? [] : [index]))
  const positionOf = new Map(consuming.map((index, position) => [index, position]))
  const positionsFrom = createClosures(states, positionOf)
  const words = (consuming.length + 31) >>> 5
  const moves = toMoves(consuming.map((index) => positionsFrom((states[index] as State).next)))
  const acceptedBy = createAlphabet(
    consuming.map((index) => states[index]?.accepts ?? []),
    words
  )
  const start = toBits(positionsFrom(0), words)
  const end = toBits([consuming.length - 1], words)
  const program = { start, moves, acceptedBy, words }
  return {
    matches: (text) => run(program, text).some((bits, word) => (bits & (end[word] as number)) !== 0),
    reaches: (text) => run(program, text).some((bits, word) => (bits & ~(end[word] as number)) !== 0),
    steps: moves.length / moveSize + 2 * words
  }
}

/** The states of one word that go equally far: the word, their bits, the word they go to, and the bits to shift them by. */
type Move = [from: number, states: number, to: number, shift: number]
const moveSize = 4

interface Program {
  readonly start: Int32Array
  /** In sequence. */
  readonly moves: Int32Array
  readonly acceptedBy: (codePoint: number) => Int32Array
  readonly words: number
}

/** The states that are active after the text. */
function run({ start, moves, acceptedBy, words }: Program, text: string): Int32Array {
  let active = Int32Array.from(start)
  let following = new Int32Array(active.length)
  for (let at = 0; at < text.length; at += 1) {
    const codePoint = text.codePointAt(at) as number
    if (codePoint > 0xffff) at += 1
    const accepted = acceptedBy(codePoint)
    let any = 0
    for (let word = 1; word <= words; word += 1) {
      any |= active[word] = (active[word] as number) & (accepted[word] as number)
      following[word] = 0
    }
    if (any === 0) return following
    for (let index = 0; index < moves.length; index += moveSize) {
      const moved = (active[moves[index] as number] as number) & (moves[index + 1] as number)
      if (moved === 0) continue
      const to = moves[index + 2] as number
      const shift = moves[index + 3] as number
      following[to] = (following[to] as number) | (moved << shift)
      if (shift !== 0) following[to + 1] = (following[to + 1] as number) | (moved >>> (32 - shift))
    }
    ;[active, following] = [following, active]
  }
  return active
}

/** The first and the last word stay empty: bits that are shifted reach into the word next to theirs. */
function toBits(positions: Iterable<number>, words: number): Int32Array {
  const bits = new Int32Array(words + 2)
  for (const position of positions) {
    const word = (position >>> 5) + 1
    bits[word] = (bits[word] as number) | (1 << (position & 31))
  }
  return bits
}

/** @param follows the positions that are active after each position has consumed a character */
function toMoves(follows: readonly Iterable<number>[]): Int32Array {
  const moves = new Map<number, Move>()
  follows.forEach((targets, position) => {
    const from = (position >>> 5) + 1
    for (const target of targets) {
      const distance = target - position
      const key = distance * follows.length + from
      const move = moves.get(key) ?? [from, 0, from + (distance >> 5), distance & 31]
      move[1] |= 1 << (position & 31)
      moves.set(key, move)
    }
  })
  return Int32Array.from([...moves.values()].flat())
}

/** @returns the positions of all states that a state reaches without consuming */
function createClosures(states: readonly State[], positionOf: ReadonlyMap<number, number>) {
  const known = new Map<number, readonly number[]>()
  return (first: number): readonly number[] => {
    const before = known.get(first)
    if (before !== undefined) return before
    const seen = new Set<number>()
    const positions: number[] = []
    const stack = first < 0 ? [] : [first]
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (seen.has(top)) continue
      seen.add(top)
      const position = positionOf.get(top)
      if (position !== undefined) {
        positions.push(position)
        continue
      }
      const { next, other } = states[top] as State
      stack.push(next)
      if (other !== undefined) stack.push(other)
    }
    known.set(first, positions)
    return positions
  }
}

/** Characters between two bounds of ranges are all alike: the states that accept them are computed once. */
function createAlphabet(accepts: readonly Ranges[], words: number): (codePoint: number) => Int32Array {
  const bounds = new Set([0])
  for (const [from, to] of accepts.flat()) bounds.add(from).add(to + 1)
  const sorted = Uint32Array.from(bounds).sort()
  const known: (Int32Array | undefined)[] = []
  const ofAscii = Uint16Array.from({ length: 128 }, (_, codePoint) => find(codePoint))

  function find(codePoint: number): number {
    let [low, high] = [0, sorted.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if ((sorted[middle] as number) <= codePoint) low = middle
      else high = middle - 1
    }
    return low
  }

  function look(letter: number): Int32Array {
    const codePoint = sorted[letter] as number
    const isAccepted = (ranges: Ranges) => ranges.some(([from, to]) => from <= codePoint && codePoint <= to)
    return toBits(
      accepts.flatMap((ranges, position) => (isAccepted(ranges) ? [position] : [])),
      words
    )
  }

  return (codePoint) => {
    const letter = codePoint < 128 ? (ofAscii[codePoint] as number) : find(codePoint)
    return (known[letter] ??= look(letter))
  }
}
