// Transactions: 20 files at once beside 20 updates one after the other; blame and undo of 100 changes.
import { makeTree, hashOf } from '../../test/fixtures/tree.ts'
import { connect, type TestClient } from '../../test/fixtures/clients.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { withOwner, type Owner } from '../owner.ts'
import { median } from '../statistics.ts'
import { figure, printTable } from '../table.ts'

const files = 20
const rounds = 15
const changes = 100

const names = Array.from({ length: files }, (_, index) => `f${index}`)
const textOf = (name: string, round: number) => `${name} ${round}\n`.repeat(400)

export async function transactions(): Promise<void> {
  console.log('\n## transactions: 20 files of 5 KB at once, beside 20 durable updates; blame and undo of 100 changes')
  await withOwner(measure)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function measure(owner: Owner): Promise<void> {
  const ann = await startTransactions(owner)
  const { single, together } = await timeTransactions(ann)
  printTable(
    '20 durable changes',
    ['files', 'single ms', 'transaction ms', 'of single'],
    [[String(files), figure(single), figure(together), figure(together / single)]]
  )
  await measureUndo(ann)
}

/** A server over the files that are changed. */
export async function startTransactions(owner: Owner): Promise<TestClient> {
  const lines = Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join('')
  const tree = makeTree(owner, { ...Object.fromEntries(names.map((name) => [name, textOf(name, 0)])), long: lines })
  const { url } = await startProgram(owner, ['--dir', tree.root], { ASYNC_CRUD_MCP_CRUD__MAX_FILE_VERSIONS: '200' })
  return connect(owner, 'rest', url, 'ann')
}

/** Medians, in ms: the files one after the other, and together. */
export async function timeTransactions(ann: TestClient): Promise<{ single: number; together: number }> {
  const times = { single: [] as number[], together: [] as number[] }
  let round = 0
  const updates = () => {
    round += 1
    return names.map((path) => ({
      path,
      expected_hash: hashOf(textOf(path, round - 1)),
      content: textOf(path, round)
    }))
  }
  for (let number = 0; number < rounds; number += 1) {
    const single = updates()
    times.single.push(
      await timed(async () => {
        for (const input of single) requireOk(await ann.call('async_update', input))
      })
    )
    const together = updates().map((input) => ({ operation: 'update', ...input }))
    times.together.push(await timed(async () => requireOk(await ann.call('async_transaction', { changes: together }))))
  }
  return { single: median(times.single), together: median(times.together) }
}

async function measureUndo(ann: TestClient): Promise<void> {
  for (let line = 0; line < changes; line += 1) {
    const { hash } = await ann.call('async_read', { path: 'long', limit: 0 })
    const patches = [{ old_string: `line ${line * 20}\n`, new_string: `ann ${line}\n` }]
    requireOk(await ann.call('async_update', { path: 'long', expected_hash: hash, patches, change_set: 'all' }))
  }
  const blame = await timed(async () => requireOk(await ann.call('async_blame', { path: 'long' })))
  const undo = await timed(async () => requireOk(await ann.call('async_undo', { of_change_set: 'all' })))
  printTable(
    '100 changes of a file of 2,000 lines',
    ['changes', 'blame ms', 'undo ms'],
    [[String(changes), figure(blame), figure(undo)]]
  )
}

function requireOk({ status, ...answer }: Record<string, unknown>): void {
  if (status !== 'ok') throw new Error(JSON.stringify(answer))
}
