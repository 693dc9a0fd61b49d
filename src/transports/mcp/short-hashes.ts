// Hashes in answers to models: shortened where the schemas of an operation's answers have them, and nowhere else.
import { Contention } from '../../../schemas/contention.ts'
import type { TObject } from '../../../schemas/typebox.ts'
import type { OperationResult } from '../../engine/context.ts'
import type { Operation } from '../../operations/definition/define.ts'

/** Where the hashes are below a value: in it, or in members; of a list, in each item. */
type Places = true | { readonly [name: string]: Places }

interface Schema {
  readonly pattern?: string
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
}

const shortLength = 'sha256:'.length + 16

/** Of every answer: its own, a contention, an error, whose details can have the contentions or results of a list. */
export function createShortener({
  output,
  contends,
  envelope
}: Pick<Operation, 'output' | 'contends' | 'envelope'>): (answer: OperationResult) => OperationResult {
  const results = (output as TObject & Schema).properties['results'] as Schema | undefined
  const details = { properties: { contentions: Contention, ...(results && { results }) } } as Schema
  const error: Schema = { properties: { ...(envelope.schema as Schema).properties, details } }
  const places = placesOf({ anyOf: [output, ...(contends ? [Contention] : []), error] as Schema[] })
  return (answer) => (places === undefined ? answer : (shorten(answer, places) as OperationResult))
}

function placesOf({ pattern, items, anyOf, properties = {} }: Schema): Places | undefined {
  if (pattern?.startsWith('^sha256:') === true) return true
  if (items !== undefined) return placesOf(items)
  let places: Places = {}
  for (const form of anyOf ?? []) {
    const found = placesOf(form)
    if (found === true) return true
    places = merge(places, found)
  }
  for (const [name, property] of Object.entries(properties)) {
    const found = placesOf(property)
    if (found !== undefined) places = merge(places, { [name]: found })
  }
  return Object.keys(places).length === 0 ? undefined : places
}

function merge(one: Places, other: Places = {}): Places {
  if (one === true || other === true) return true
  const merged: Record<string, Places> = { ...one }
  for (const [name, places] of Object.entries(other)) merged[name] = merge(merged[name] ?? {}, places)
  return merged
}

function shorten(value: unknown, places: Places): unknown {
  if (typeof value === 'string') return places === true ? value.slice(0, shortLength) : value
  if (typeof value !== 'object' || value === null || places === true) return value
  if (Array.isArray(value)) return value.map((item: unknown) => shorten(item, places))
  const given = value as Readonly<Record<string, unknown>>
  const copy: Record<string, unknown> = { ...given }
  for (const name in places) if (given[name] !== undefined) copy[name] = shorten(given[name], places[name] as Places)
  return copy
}
