// Who waits for whom in the model, by brute force: every path is walked to its end. And what a circle is for: that nobody in it can
// ever run, tried out by letting all others finish in every possible order.
import assert from 'node:assert/strict'
import {
  blockersIn,
  type Circle,
  type Line,
  type ModelPlace,
  type ModelRequest,
  type ModelTable
} from './lease-rules.ts'

/** An operation, or whoever holds or will hold a lease. */
type Node = ModelRequest | string

/** All circles through a waiting place; undefined where there is none. */
export function findCircles(table: ModelTable, start: ModelPlace): Circle | undefined {
  const { request } = start
  let shortest = Infinity
  const walk = (place: ModelPlace, length: number, path: ReadonlySet<Node>): void => {
    for (const node of obstaclesOf(table, place)) {
      if (node === request || node === request.agentId) shortest = Math.min(shortest, length)
      else if (!path.has(node))
        for (const next of waitsOf(table, node)) walk(next, length + 1, new Set([...path, node]))
    }
  }
  walk(start, 1, new Set())
  return shortest === Infinity ? undefined : { edges: edgesOf(table), shortest }
}

function obstaclesOf(table: ModelTable, place: ModelPlace): Node[] {
  const blockers = blockersIn(table, lineOf(table, place.key), place)
  return blockers.map(({ request }) => (request.isLease ? nameOf(request) : request))
}

function waitsOf(table: ModelTable, node: ModelRequest | string): ModelPlace[] {
  const waiting = [...table.lines.values()].flatMap(({ waiters }) => waiters)
  return waiting.filter(({ request }) => request === node || request.agentId === node)
}

function edgesOf(table: ModelTable): Set<string> {
  const waiting = [...table.lines.values()].flatMap(({ waiters }) => waiters)
  const nameOfNode = (node: Node) => (typeof node === 'string' ? node : nameOf(node))
  return new Set(
    waiting.flatMap((place) =>
      obstaclesOf(table, place).map((node) => `${nameOf(place.request)} -> ${place.key} -> ${nameOfNode(node)}`)
    )
  )
}

function nameOf({ agentId, name }: ModelRequest): string {
  return agentId ?? `${name} without agent_id`
}

function lineOf({ lines }: ModelTable, key: string): Line {
  const line = lines.get(key) ?? { holders: [], waiters: [] }
  lines.set(key, line)
  return line
}

/**
 * Fails if the place could be granted after all: where operations that hold all they need end, and agents that wait for nothing let
 * go of their leases, in some order.
 */
export function assertStuck(table: ModelTable, place: ModelPlace): void {
  const seen = new Set<string>()
  const visit = (state: ModelTable): void => {
    settle(state)
    const { holders, waiters } = toSets(state)
    assert(waiters.has(place), `${nameOf(place.request)} does not wait in a circle on ${place.key}: it could run`)
    const id = JSON.stringify(
      [...state.lines].map(([key, line]) => [key, line.holders.map(toId), line.waiters.map(toId)])
    )
    if (seen.has(id)) return
    seen.add(id)
    const isWaiting = ({ request }: ModelPlace) =>
      [...waiters].some((waiter) =>
        request.isLease ? waiter.request.agentId === request.agentId : waiter.request === request
      )
    for (const holder of holders) if (!isWaiting(holder)) visit(without(state, holder))
  }
  visit(copyOf(table))
}

/** Lets everybody run who can. An operation that holds all its keys stays until it is taken out; one that needs another joins there. */
function settle(state: ModelTable): void {
  for (let isChanged = true; isChanged;) {
    isChanged = false
    for (const [, line] of state.lines) {
      const next = line.waiters.find((waiter) => blockersIn(state, line, waiter).length === 0)
      if (next === undefined) continue
      isChanged = true
      line.waiters = line.waiters.filter((waiter) => waiter !== next)
      line.holders = [...line.holders, next]
      const { places } = next.request
      const further = places[places.indexOf(next) + 1]
      if (further !== undefined) lineOf(state, further.key).waiters.push(further)
    }
  }
}

function toSets({ lines }: ModelTable) {
  return {
    holders: new Set([...lines.values()].flatMap((line) => line.holders)),
    waiters: new Set([...lines.values()].flatMap((line) => line.waiters))
  }
}

/** An operation goes with all that it holds; a lease alone. */
function without({ lines, leasesBind }: ModelTable, { request }: ModelPlace): ModelTable {
  const isOther = (place: ModelPlace) => place.request !== request
  return {
    leasesBind,
    lines: new Map(
      Array.from(lines, ([key, line]) => [
        key,
        { holders: line.holders.filter(isOther), waiters: line.waiters.filter(isOther) }
      ])
    )
  }
}

function copyOf(table: ModelTable): ModelTable {
  const { lines, leasesBind } = table
  return {
    leasesBind,
    lines: new Map(
      Array.from(lines, ([key, { holders, waiters }]) => [key, { holders: [...holders], waiters: [...waiters] }])
    )
  }
}

function toId({ request, mode }: ModelPlace): string {
  return `${request.name} ${mode}`
}
