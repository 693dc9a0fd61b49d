// An agent that reads a few files as of one moment and changes them in one transaction, now and then with a lease in its hand.
import type { Answer, TestClient } from '../../fixtures/clients.ts'
import type { Random } from '../../fixtures/random.ts'
import { hashOf } from '../../fixtures/tree.ts'
import type { Act, Version } from './serial-order.ts'

export const paths = Array.from({ length: 10 }, (_, index) => `f${index}`)

export interface Log {
  readonly acts: Act[]
  /** How often calls were answered what. */
  readonly counts: Record<string, number>
  /** What must not happen. */
  readonly problems: string[]
}

interface Known {
  readonly hash: string
  readonly content: string
}

interface Change {
  readonly operation: string
  readonly path: string
  readonly new_path?: string
  readonly expected_hash?: string
  readonly content?: string
  readonly patches?: readonly { old_string: string; new_string: string }[]
}

const leaseShare = 0.15
const dryShare = 0.05
const seconds = 120

export const textOf = (name: string) => Array.from({ length: 6 }, (_, line) => `${name} ${line}\n`).join('')

export async function runAgent(
  agent: string,
  client: TestClient,
  { acts, counts, problems }: Log,
  { random, next }: { readonly random: Random; readonly next: () => number | undefined }
): Promise<void> {
  const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1)
  const some = <Item>(items: readonly Item[], most: number): Item[] => {
    const left = [...items]
    const length = 1 + Math.floor(random() * most)
    return Array.from({ length }, () => left.splice(Math.floor(random() * left.length), 1)).flat()
  }

  async function call(name: string, input: object): Promise<Answer & { sentAt: number; answeredAt: number }> {
    const sentAt = performance.now()
    const answer = await client.call(name, input)
    const answeredAt = performance.now()
    if (answeredAt - sentAt > seconds * 500) problems.push(`${agent}: ${name} took ${answeredAt - sentAt} ms`)
    const refusal = answer['error_code']
    const expected = ['DEADLOCK', 'FILE_NOT_FOUND', 'FILE_EXISTS', undefined]
    if (!expected.includes(refusal)) problems.push(`${agent}: ${name} was answered ${JSON.stringify(answer)}`)
    count(`${name} ${refusal ?? answer['status']}`)
    return { ...answer, sentAt, answeredAt }
  }

  function note(name: string, when: { sentAt: number; answeredAt: number }, saw: Versions, made: Versions = new Map()) {
    acts.push({ agent, name, sentAt: when.sentAt, answeredAt: when.answeredAt, saw, made })
  }

  async function read(names: readonly string[], number: number): Promise<Map<string, Known | null> | undefined> {
    const files = names.map((path) => ({ path }))
    const answer = await call('async_batch_read', { files, consistent: true })
    if (answer['status'] !== 'ok') return undefined
    const results = answer['results'] as Answer[]
    const known = new Map(
      names.map((path, index) => [path, results[index]!['status'] === 'ok' ? (results[index] as Known) : null])
    )
    note(`read ${number}`, answer, new Map([...known].map(([path, file]) => [path, file?.hash ?? null])))
    return known
  }

  /** All for the files as they were read: absent ones are written, or get the name of another one. */
  function plan(known: ReadonlyMap<string, Known | null>, mark: string): Change[] {
    const there = [...known].flatMap(([path, file]) => (file === null ? [] : [{ path, file }]))
    const absent = [...known].flatMap(([path, file]) => (file === null ? [path] : []))
    const changes: Change[] = []
    const choice = random()
    if (choice < 0.15 && there.length >= 2) {
      const [one, other] = [there.shift()!.path, there.shift()!.path]
      changes.push(
        { operation: 'rename', path: one, new_path: other },
        { operation: 'rename', path: other, new_path: one }
      )
    } else if (choice < 0.4 && there.length >= 1 && absent.length >= 1)
      changes.push({ operation: 'rename', path: there.shift()!.path, new_path: absent.shift()! })
    for (const path of absent) changes.push({ operation: 'write', path, content: textOf(`${path} ${mark}`) })
    for (const { path, file } of there) {
      const kind = random()
      const expected_hash = random() < 0.7 ? { expected_hash: file.hash } : {}
      if (kind < 0.12) changes.push({ operation: 'delete', path, ...expected_hash })
      else if (kind < 0.3) changes.push({ operation: 'append', path, content: `${mark}\n`, ...expected_hash })
      else {
        const line = some(file.content.split('\n').slice(0, -1), 1)[0]!
        const patches = [{ old_string: `${line}\n`, new_string: `${path} ${mark}\n` }]
        changes.push({ operation: 'update', path, expected_hash: file.hash, patches })
      }
    }
    return changes
  }

  async function transact(known: ReadonlyMap<string, Known | null>, number: number): Promise<void> {
    const changes = plan(known, `${agent}.${number}`)
    const isDry = random() < dryShare
    const on_contention = random() < 0.5 ? 'merge' : 'report'
    const input = { changes, on_contention, timeout: seconds, ...(isDry && { dry_run: true }) }
    const answer = await call('async_transaction', input)
    if (answer['error_code'] === 'DEADLOCK') return
    if (answer['status'] !== 'ok')
      return note(`refused ${number}`, answer, seenByRefusal(changes, answer, on_contention))
    const results = answer['changes'] as Answer[]
    for (const [index, { patches, path }] of changes.entries()) {
      const { previous_hash, hash, merged } = results[index]!
      if (merged === true) count('merged')
      const file = known.get(path)
      if (patches === undefined || file?.hash !== previous_hash) continue
      const [{ old_string, new_string }] = patches as [{ old_string: string; new_string: string }]
      if (hash !== hashOf(file!.content.replace(old_string, new_string)))
        problems.push(`${agent}: ${path} of ${number} is not what was asked for`)
    }
    const { saw, made } = seenAndMade(changes, results)
    note(`transaction ${number}`, answer, saw, isDry ? new Map() : made)
  }

  for (let number = next(); number !== undefined; number = next()) {
    const names = some(paths, 4)
    const held = random() < leaseShare ? names.slice(0, 1) : []
    if (held.length > 0) await call('lock_try', { filepaths: held })
    const known = await read(names, number)
    if (known !== undefined) await transact(known, number)
    if (held.length > 0) await call('lock_release_all', {})
  }
}

type Versions = Map<string, Version>

/** A rename is for a name that is free, or that another rename of the same call frees. */
function seenAndMade(changes: readonly Change[], results: readonly Answer[]): { saw: Versions; made: Versions } {
  const saw: Versions = new Map()
  const made: Versions = new Map()
  for (const { new_path } of changes) if (new_path !== undefined) saw.set(new_path, null)
  for (const [index, { path, new_path }] of changes.entries()) {
    saw.set(path, results[index]!['previous_hash'])
    made.set(path, new_path === undefined ? results[index]!['hash'] : null)
  }
  for (const [index, { new_path }] of changes.entries())
    if (new_path !== undefined) made.set(new_path, results[index]!['hash'])
  return { saw, made }
}

/** What a refusal tells: the versions that came too late, the files that are gone, and that all others are as expected. */
function seenByRefusal(changes: readonly Change[], answer: Answer, onContention: string): Versions {
  const details = (answer['details'] ?? {}) as Answer
  const contentions = (answer['contentions'] ?? details['contentions'] ?? []) as Answer[]
  const failures = new Map(((details['failures'] ?? []) as Answer[]).map(({ change, code }) => [change, code]))
  const late = new Map(contentions.map(({ path, current_hash }) => [path as string, current_hash as Version]))
  const saw: Versions = new Map()
  for (const [index, { path, expected_hash }] of changes.entries()) {
    if (failures.get(index) === 'FILE_NOT_FOUND') saw.set(path, null)
    else if (late.has(path)) saw.set(path, late.get(path)!)
    else if (!failures.has(index) && expected_hash !== undefined && onContention === 'report')
      saw.set(path, expected_hash)
  }
  return saw
}
