// What differs from one recording of the examples to the next is given one value, so that two recordings are equal.
import { basename } from 'node:path'
import type { Json } from './components.ts'

interface Stage {
  readonly root: string
  /** Of the running service. */
  readonly port: number
  /** The longest wait, as it was and as it is shown. */
  readonly maxTimeout: { readonly seconds: number; readonly shown: number }
}

export type Steadier = (value: Json) => Json

const root = '/home/ann/project'
const port = 8720
const ticket = 'ticket-7f3a9c52d1e8b604'
const layer = '3f9a1c07'
const commits: Readonly<Record<string, string>> = { commit: '4c0ffee0'.repeat(5), parent: '0ddba11'.padEnd(40, '0') }
const now = '2026-11-21T09:00:00.000Z'
/** A lease lasts 300 s, a place is kept for 60 s. */
const endOfLease = '2026-11-21T09:05:00.000Z'
const endOfTicket = '2026-11-21T09:01:00.000Z'

const numbers: Readonly<Record<string, number>> = {
  port,
  pid: 4217,
  uptime_seconds: 42.5,
  memory_bytes: 92_274_688,
  watched_directories: 2,
  authority_pid: 4711,
  p50: 0.12,
  p99: 1.3,
  remaining_seconds: 300,
  waited_seconds: 1.5,
  seq: 1042
}
const times: Readonly<Record<string, string>> = {
  expires_at: endOfLease,
  held_until: endOfLease,
  timeout_at: endOfTicket,
  ticket_expires_at: endOfTicket
}

const anyTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const anyEndOfLease = new RegExp(`(until )${anyTime.source}, [\\d.]+ s from now`, 'g')

export function createSteadier(stage: Stage): Steadier {
  const tokens = createRanks()
  return function toSteady(value: Json, key = ''): Json {
    if (typeof value === 'string') {
      if (key === 'layer') return layer
      if (commits[key] !== undefined) return commits[key]
      if (key === 'next_cursor') return toSteadyCursor(value)
      return times[key] ?? steadyText(value, stage, tokens)
    }
    if (typeof value === 'number') return key === 'fencing_token' ? tokens(value) : (numbers[key] ?? value)
    if (key === 'strip' && Array.isArray(value)) return toNow(value as number[])
    if (Array.isArray(value)) return value.map((item) => toSteady(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toSteady(inner, name)]))
  }
}

/** The numbers of versions begin with the time: behind the mark of its query, a cursor of async_history has one. */
function toSteadyCursor(cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const mark = bytes.subarray(0, 6)
  return /^\d+$/.test(bytes.subarray(6).toString())
    ? Buffer.concat([mark, Buffer.from('3')]).toString('base64url')
    : cursor
}

/** As if all had happened in the last slice. */
function toNow(strip: readonly number[]): number[] {
  const sum = strip.reduce((total, count) => total + count, 0)
  return strip.map((_, index) => (index === strip.length - 1 ? sum : 0))
}

/** Tokens are times: here the first that is shown is 1, the next 2. */
function createRanks(): (token: number) => number {
  const ranks = new Map<number, number>()
  return (token) => {
    const rank = ranks.get(token) ?? ranks.size + 1
    ranks.set(token, rank)
    return rank
  }
}

function steadyText(text: string, stage: Stage, tokens: (token: number) => number): string {
  return text
    .replaceAll(stage.root, root)
    .replaceAll(/(?<=fencing_token )\d+/g, (token) => String(tokens(Number(token))))
    .replaceAll(basename(stage.root), basename(root))
    .replaceAll(`:${stage.port}`, `:${port}`)
    .replaceAll(`${stage.maxTimeout.seconds} s`, `${stage.maxTimeout.shown} s`)
    .replaceAll(/ticket-[0-9a-f]{16}/g, ticket)
    .replaceAll(/(?<=layers\/)[0-9a-f]{8}/g, layer)
    .replaceAll(anyTime, now)
    .replaceAll(anyEndOfLease, `$1${endOfLease}, 300 s from now`)
}
