// Changes of several files in one call: transactions and batches, exchanged names and chains of renames.
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { updateOf } from './forms.ts'
import { edited, textOf } from './lines.ts'
import type { Part, Step } from './steps.ts'
import type { World } from './world.ts'

export async function together(
  world: World,
  { agent, set, parts, isBatch, isAtomic }: Step & { do: 'together' }
): Promise<void> {
  const all = parts.map((part) => outcomeOf(world, part, world.agent(agent))).filter((one) => one !== undefined)
  const chosen = all.filter(({ paths }, at) => {
    const taken = all.slice(0, at).flatMap((earlier) => earlier.paths)
    return !paths.some((path) => taken.includes(path))
  })
  if (chosen.length === 0) return
  const kind = chosen[0]!.change.operation
  const isOfBatch = isBatch && (kind === 'write' || kind === 'update')
  const these = isOfBatch ? chosen.filter(({ change }) => change.operation === kind) : chosen
  const outcomes = these.map(({ outcome }) => outcome)
  const by = { agent, set }
  if (!isOfBatch) {
    const answer = await world.call('async_transaction', {
      changes: these.map(({ change }) => change),
      ...world.by(agent, set)
    })
    return world.settle(answer, world.model.together(outcomes), by)
  }
  const files = these.map(({ change }) => ({ ...change, operation: undefined }))
  const answer = await world.call(`async_batch_${kind}`, { files, atomic: isAtomic, ...world.by(agent, set) })
  const results = answer['results'] as Answer[]
  if (!isAtomic) return results.forEach((result, at) => world.settle(result, outcomes[at]!, by))
  const whole = world.model.together(outcomes)
  if (whole.is === 'made') return world.settle({ ...results[0]!, hash: undefined, changed: undefined }, whole, by)
  for (const [at, result] of results.entries()) {
    const outcome = outcomes[at]!
    world.settle(result, outcome.is === 'made' ? { is: 'refused', code: 'NOT_MADE' } : outcome, by)
  }
}

/** One change of a transaction, with its outcome alone. */
function outcomeOf(world: World, part: Part, agent: string) {
  const path = world.pick(part.name, part.do !== 'write')
  const isLink = world.isLink(path)
  switch (part.do) {
    case 'write': {
      if (isLink) return undefined
      const lines = textOf(part.text)
      return {
        paths: [path],
        change: { operation: 'write', path, content: lines.join('') },
        outcome: world.model.write(agent, path, lines)
      }
    }
    case 'update': {
      const expected = world.version(path, part.back)
      if (expected === undefined || isLink) return undefined
      const wanted = edited(expected, part.slots)
      const change = {
        operation: 'update',
        path,
        expected_hash: hashOf(expected.join('')),
        ...updateOf(part.form, expected, wanted)
      }
      return { paths: [path], change, outcome: world.model.update(agent, path, { expected, wanted, isMerge: false }) }
    }
    case 'append': {
      if (isLink) return undefined
      const text = world.addition()
      const addition = { text, separator: '', isCreating: false, expected: undefined, isMerge: false }
      return {
        paths: [path],
        change: { operation: 'append', path, content: text },
        outcome: world.model.append(agent, path, addition)
      }
    }
    case 'delete':
      return { paths: [path], change: { operation: 'delete', path }, outcome: world.model.remove(path) }
    case 'rename': {
      const to = world.path(part.to)
      if (to === path) return undefined
      const change = { operation: 'rename', path, new_path: to, overwrite: part.isOverwriting }
      return { paths: [path, to], change, outcome: world.model.rename(path, to, part.isOverwriting) }
    }
    default:
      return part satisfies never
  }
}

/** A chain of renames, or one that ends where it began. */
export async function permute(
  world: World,
  { agent, set, names, isCircle, isOverwriting }: Step & { do: 'permute' }
): Promise<void> {
  const paths = names.map((name) => world.path(name))
  const pairs = paths.map((path, at) => [path, paths[(at + 1) % paths.length]!] as const)
  const taken = isCircle ? pairs : pairs.slice(0, -1)
  const leaving = taken.map(([from]) => from)
  const changes = taken.map(([path, new_path]) => ({ operation: 'rename', path, new_path, overwrite: isOverwriting }))
  const outcome = world.model.together(
    taken.map(([from, to]) => world.model.rename(from, to, isOverwriting, undefined, leaving))
  )
  const answer = await world.call('async_transaction', { changes, ...world.by(agent, set) })
  world.settle(answer, outcome, { agent, set })
}
