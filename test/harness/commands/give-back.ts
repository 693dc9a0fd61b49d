// Asks the server for what commands took away, and looks whether the bytes come back.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentHash } from '../../../src/engine/files/content-hash.ts'
import { orUndefined } from '../../../src/support/attempt.ts'
import type { TestClient } from '../../fixtures/clients.ts'
import type { Random } from '../../fixtures/random.ts'
import type { Campaign, Made, Write } from './campaign.ts'

export interface GivenBack {
  /** Commands that were undone. */
  undone: number
  /** Versions that were restored. */
  restored: number
  readonly faults: string[]
}

interface Options {
  readonly root: string
  readonly client: TestClient
  readonly random: Random
  /** Commands that are undone at most, and versions that are restored. */
  readonly most: number
}

export async function giveBack({ writes, made }: Campaign, options: Options): Promise<GivenBack> {
  const { root, client, random, most } = options
  const given: GivenBack = { undone: 0, restored: 0, faults: [] }
  const hashAt = (path: string) => {
    const bytes = orUndefined(() => readFileSync(join(root, path)))
    return bytes === undefined ? null : contentHash(bytes)
  }

  // First, while the last command of each file is its last change.
  for (const command of pickSome(lastCommands(writes), most, random)) {
    const [{ mark, agent, kind, path }] = command
    const { versions } = await client.call('async_history', { path, limit: 1 })
    const [newest] = versions
    if (newest?.agent_id !== agent || newest.attribution !== 'certain') continue
    const answer = await client.call('async_undo', { of_change_set: newest.change_set })
    const kept = command.filter((one) => hashAt(one.path) !== one.before)
    given.undone += 1
    for (const one of kept)
      given.faults.push(`undo of ${kind} of ${mark}: ${one.path} is not what it was before: ${JSON.stringify(answer)}`)
  }
  const taken = writes.flatMap(({ path, before }): Made[] => (before ? [{ path, hash: before }] : []))
  for (const { path, hash } of pickSome([...taken, ...made], most, random)) {
    const answer = await client.call('async_restore', { path, hash, expected_hash: null, create_dirs: true })
    given.restored += 1
    if (hashAt(path) !== hash) given.faults.push(`restore of ${hash} to ${path}: ${JSON.stringify(answer)}`)
  }
  return given
}

/** The writes of each command behind which nothing has changed its files. */
function lastCommands(writes: readonly Write[]): readonly (readonly [Write, ...Write[]])[] {
  const last = new Map(writes.map((write) => [write.path, write]))
  const commands = new Map<string, [Write, ...Write[]]>()
  for (const write of writes) {
    const known = commands.get(write.mark)
    if (known === undefined) commands.set(write.mark, [write])
    else known.push(write)
  }
  return [...commands.values()].filter((command) =>
    command.every((write) => last.get(write.path) === write && write.before !== undefined && write.isByPath)
  )
}

function pickSome<Item>(items: readonly Item[], count: number, random: Random): readonly Item[] {
  const left = [...items]
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0]!
  )
}
