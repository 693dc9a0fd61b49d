// Growth with what is in the tree: files that have been read, versions of one file, entries of a listing.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hashOf, makeTree } from '../../test/fixtures/tree.ts'
import { costOf, type Measured } from '../growth.ts'
import type { Owner } from '../owner.ts'
import { residentMb } from '../process-use.ts'
import { openRest } from './editing-doors.ts'

const filesPerFolder = 1000
const batch = 500
const counts = [100, 1000, 10_000, 100_000]

const pathOf = (index: number) => `d${Math.floor(index / filesPerFolder)}/file-${index}.ts`

/** Files that were read at least once; one server, that comes to know more and more. */
export async function pathsKnown(owner: Owner, calls: number): Promise<Measured[]> {
  const { root } = makeTree(owner)
  const door = await openRest(owner, root)
  const call = await door.connect()
  const measured: Measured[] = []
  let known = 0
  for (const size of counts) {
    for (; known < size; known += Math.min(batch, size - known)) {
      const files = Array.from({ length: Math.min(batch, size - known) }, (_, index) => ({
        path: pathOf(known + index)
      }))
      for (const { path } of files) write(join(root, path), `one of ${size}\n`)
      await call('async_batch_read', { files })
    }
    const spread = (index: number) => pathOf((index * 7919) % size)
    const cost = await costOf(door.pid, calls, (index) => call('async_read', { path: spread(index) }))
    measured.push({ what: 'read, paths known', size, cost, mb: residentMb(door.pid) })
    const history = await costOf(door.pid, calls, () => call('async_history', {}))
    measured.push({ what: 'history of the tree, paths known', size, cost: history, mb: residentMb(door.pid) })
  }
  return measured
}

const versionCounts = [10, 100, 1000, 5000]

/** As many versions of one file as are remembered, and then the next change, the late change, and the question who made them. */
export async function versionsOfOneFile(owner: Owner, calls: number): Promise<Measured[]> {
  const { root } = makeTree(owner)
  const text = (version: number) => `${'the same line\n'.repeat(300)}version ${version}\n`
  write(join(root, 'f'), text(0))
  const door = await openRest(owner, root, {
    ASYNC_CRUD_MCP_CRUD__MAX_FILE_VERSIONS: String(Math.max(...versionCounts)),
    ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename'
  })
  const call = await door.connect()
  await call('async_read', { path: 'f' })
  let version = 0
  const update = () => {
    version += 1
    const change = { path: 'f', expected_hash: hashOf(text(version - 1)), content: text(version) }
    return call('async_update', { ...change, agent_id: `agent-${version % 10}` })
  }
  const measured: Measured[] = []
  for (const size of versionCounts) {
    // The last ones are those measured.
    const timed = Math.min(calls, size / 2)
    for (let left = size - timed - version; left > 0; left -= 1) await update()
    const costs = {
      'update, versions of the file': await costOf(door.pid, timed, update),
      'read, versions of the file': await costOf(door.pid, calls, () => call('async_read', { path: 'f' })),
      'history of the file, its versions': await costOf(door.pid, calls, () => call('async_history', { path: 'f' })),
      'diff from the first, versions of the file': await costOf(door.pid, calls / 10, () =>
        call('async_diff', { path: 'f', from_hash: hashOf(text(0)) })
      )
    }
    for (const [what, cost] of Object.entries(costs)) measured.push({ what, size, cost, mb: residentMb(door.pid) })
  }
  return measured
}

/** Whole, and by pages of a thousand. */
export async function listedEntries(owner: Owner, calls: number): Promise<Measured[]> {
  const { root } = makeTree(owner)
  const door = await openRest(owner, root)
  const call = await door.connect()
  const measured: Measured[] = []
  for (const size of counts) {
    const path = `all-${size}`
    for (let index = 0; index < size; index += 1) write(join(root, path, `file-${index}.ts`), '')
    const most = Math.max(3, Math.min(20, (calls * 100) / size))
    const cost = await costOf(door.pid, most, () => call('async_list', { path, limit: 100_000 }))
    measured.push({ what: 'list, entries', size, cost, mb: residentMb(door.pid) })
    const page = await costOf(door.pid, most, () => call('async_list', { path, limit: 100 }))
    measured.push({ what: 'list, 100 of so many entries', size, cost: page, mb: residentMb(door.pid) })
  }
  return measured
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
