// The settings of one source, each with its origin, and the faults in them.
import type { Field } from './fields.ts'
import { shortened } from '../support/cut-text.ts'

/** The source of a value. */
export type Origin =
  | { readonly source: 'flag'; readonly flag: string }
  | { readonly source: 'environment'; readonly variable: string }
  | { readonly source: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly source: 'default' }

export interface Given {
  readonly value: unknown
  readonly origin: Origin
  /** Of the items, if the value is a list and they have origins of their own. */
  readonly itemOrigins?: readonly Origin[]
}

export interface Fault {
  readonly origin: Origin
  /** Such as `daemon.port`; undefined if the fault is in no setting. */
  readonly setting?: string
  /** Where it is, the expected value, and the value found. */
  readonly message: string
}

/** By the dotted names of the settings. */
export interface Layer {
  readonly values: ReadonlyMap<string, Given>
  readonly faults: readonly Fault[]
}

/** Invalid settings. The message is one line: the first fault, and how many more there are. */
export class ConfigError extends Error {
  readonly faults: readonly Fault[]
  constructor(faults: readonly Fault[]) {
    const more = faults.length - 1
    const others = more > 0 ? ` (and ${more} more; async-crud-mcp config validate shows all)` : ''
    super(`${faults[0]?.message}${others}`)
    this.faults = faults
  }
}

/** A fault and where it is; `what` is the rest of the sentence. */
export function faultAt(origin: Origin, what: string, setting?: string): Fault {
  const where = describeOrigin(origin)
  return {
    origin,
    message: where === '' ? what : `${where}: ${what}`,
    ...(setting !== undefined && { setting })
  }
}

/** Such as `/home/ann/.config/async-crud-mcp/config.json:4:13`, `ASYNC_CRUD_MCP_DAEMON__PORT` or `--port`. */
export function describeOrigin(origin: Origin): string {
  switch (origin.source) {
    case 'flag':
      return origin.flag
    case 'environment':
      return origin.variable
    case 'file':
      return `${origin.file}:${origin.line}:${origin.column}`
    case 'default':
      return 'default'
    default:
      return origin satisfies never
  }
}

/** The value for a message; a secret is not shown. */
export function showValue({ schema }: Field, value: unknown): string {
  if (schema.writeOnly === true) return 'what it is (not shown)'
  const text = JSON.stringify(value)
  return shortened(text, 80)
}

/** Replaces the words of the specification, and upper case, by the schema's own words. */
export function normalise({ schema }: Field, value: unknown): unknown {
  if (typeof value !== 'string') return value
  return schema['x-aliases']?.[value.toLowerCase()] ?? (schema['x-any-case'] === true ? value.toLowerCase() : value)
}
