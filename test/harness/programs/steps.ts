// What a random program is: agents that do everything to a few names, with short contents, and programs outside that do, too.
import fc from 'fast-check'

export const agents = ['ann', 'bob', 'cid'] as const
export const names = ['a', 'b', 'c', 'd/e'] as const

const agent = fc.nat({ max: agents.length - 1 })
const name = fc.nat({ max: names.length - 1 })
/** Of a name that is there, or is not, as the step needs; from here on of any. */
export const exactPicks = 12
const pick = fc.nat({ max: exactPicks + 3 })
/** A number of the last versions of this file, most often the current one. */
const back = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 4 }) })
/** One of three tasks, or none. */
const set = fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 3 })
const seldom = fc.nat({ max: 3 }).map((number) => number === 3)
const coin = fc.boolean()

/** Of eight places for a line, each with one of three texts, those that a file has. */
const text = fc.uniqueArray(fc.record({ slot: fc.nat({ max: 7 }), variant: fc.nat({ max: 2 }) }), {
  maxLength: 6,
  selector: ({ slot }) => slot
})
/** Variant 3 is no line. */
const slots = fc.array(fc.record({ slot: fc.nat({ max: 7 }), variant: fc.nat({ max: 3 }) }), {
  minLength: 1,
  maxLength: 2
})

const by = { agent, set }
const write = { name: pick, text }
const update = { name: pick, back, slots }
const rename = { name: pick, to: name, isOverwriting: coin }

/** One of a transaction or batch, whose names differ. */
const part = fc.oneof(
  fc.record({ do: fc.constant('write' as const), ...write }),
  fc.record({
    do: fc.constant('update' as const),
    ...update,
    form: fc.constantFrom('content', 'text', 'lines', 'unified')
  }),
  fc.record({ do: fc.constant('append' as const), name: pick }),
  fc.record({ do: fc.constant('delete' as const), name: pick }),
  fc.record({ do: fc.constant('rename' as const), ...rename })
)
export type Part = typeof part extends fc.Arbitrary<infer Value> ? Value : never

const perhaps = <Value>(arbitrary: fc.Arbitrary<Value>, freq = 3) => fc.option(arbitrary, { nil: undefined, freq })

/** Which changes, counted back from the last: a task, a time, a version. */
const selection = fc.oneof(
  { weight: 3, arbitrary: fc.record({ agent }) },
  { weight: 3, arbitrary: fc.record({ undoOf: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ set: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ all: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ version: fc.record({ name, back: fc.nat({ max: 4 }) }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      agent: perhaps(agent, 1),
      since: perhaps(fc.nat({ max: 8 }), 1),
      until: perhaps(fc.nat({ max: 4 }), 1),
      paths: perhaps(fc.uniqueArray(name, { minLength: 1, maxLength: 2 }), 1)
    })
  }
)
export type Chosen = {
  readonly [Key in 'agent' | 'undoOf' | 'set' | 'since' | 'until']?: number | undefined
} & { readonly all?: boolean; readonly paths?: number[] | undefined; readonly version?: { name: number; back: number } }

const form = fc.constantFrom('content', 'text', 'lines', 'unified', 'edit_file', 'PUT', 'PATCH', 'batch', 'native')

export const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      ...by,
      ...write,
      form: fc.constantFrom('call', 'PUT', 'batch', 'native')
    })
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('update' as const), ...by, ...update, isMerge: coin, form }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      ...by,
      name: pick,
      back: perhaps(back, 1),
      isMerge: coin,
      isCreating: coin,
      hasSeparator: seldom
    })
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('rename' as const), ...by, ...rename, back: perhaps(back, 2) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      ...by,
      name: pick,
      back: perhaps(back, 2),
      form: fc.constantFrom('call', 'DELETE')
    })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('restore' as const),
      ...by,
      name,
      version: fc.nat({ max: 4 }),
      back: perhaps(back, 1)
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      ...by,
      parts: fc.array(part, { minLength: 1, maxLength: 3 }),
      isBatch: coin,
      isAtomic: coin
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('permute' as const),
      ...by,
      names: fc.uniqueArray(name, { minLength: 2, maxLength: 4 }),
      isCircle: coin,
      isOverwriting: coin
    })
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('undo' as const),
      ...by,
      chosen: selection,
      isPartial: seldom,
      isTriedFirst: seldom
    })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('outside' as const),
      what: fc.oneof(
        fc.record({ do: fc.constant('write' as const), name: pick, slot: fc.nat({ max: 7 }) }),
        fc.record({ do: fc.constant('delete' as const), name: pick }),
        fc.record({ do: fc.constant('rename' as const), name: pick, to: name }),
        fc.record({ do: fc.constant('link' as const), name: pick, to: fc.nat({ max: 2 }) })
      ),
      isSeen: coin
    })
  }
)
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

export const program = fc.record({
  /** What is there before; the server has not seen it. */
  files: fc.uniqueArray(fc.record({ name, text }), { maxLength: 3, selector: ({ name }) => name }),
  steps: fc.array(step, { minLength: 1, maxLength: 16, size: 'max' })
})
export type Program = typeof program extends fc.Arbitrary<infer Value> ? Value : never
