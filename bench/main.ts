// npm run bench [-- <names>] [--seconds <n>] [--agents <n>] [--files <n>] [--commits <n>] [--runs <n>] [--docs]: runs the benchmarks and
// prints their tables. With --docs it also puts them into docs/performance.md and docs/benchmarks.md.
import { availableParallelism } from 'node:os'
import { endWithNpm } from '../src/program/cli/end-with-npm.ts'
import { writeTables } from './docs.ts'
import { parseArguments, type Options, type Wanted } from './options.ts'
import { board } from './subjects/board.ts'
import { bounds } from './subjects/bounds.ts'
import { clients } from './subjects/clients.ts'
import { commit } from './subjects/commit.ts'
import { contentionSize } from './subjects/contention-size.ts'
import { fileEditing } from './subjects/file-editing.ts'
import { measureForms } from './subjects/forms.ts'
import { greedy } from './subjects/greedy.ts'
import { growth } from './subjects/growth.ts'
import { handOver } from './subjects/hand-over.ts'
import { hooks } from './subjects/hooks.ts'
import { hosts } from './subjects/hosts.ts'
import { hotPath } from './subjects/hot-path.ts'
import { isolated } from './subjects/isolated.ts'
import { land } from './subjects/land.ts'
import { leases } from './subjects/leases.ts'
import { load } from './subjects/load.ts'
import { locks } from './subjects/locks.ts'
import { lostUpdates } from './subjects/lost-updates.ts'
import { merge } from './subjects/merge.ts'
import { metrics } from './subjects/metrics.ts'
import { moments } from './subjects/moments.ts'
import { peers } from './subjects/peers.ts'
import { persistence } from './subjects/persistence.ts'
import { relay } from './subjects/relay.ts'
import { replay } from './subjects/replay.ts'
import { swarm } from './subjects/swarm.ts'
import { targets } from './subjects/targets.ts'
import { tokens } from './subjects/tokens.ts'
import { transactions } from './subjects/transactions.ts'
import { unsaved } from './subjects/unsaved.ts'
import { watcher } from './subjects/watcher.ts'
import { takeTables } from './table.ts'

const benchmarks: Readonly<Record<string, (options: Options) => Promise<void>>> = {
  'hot-path': hotPath,
  'file-editing': fileEditing,
  contention: contentionSize,
  forms: measureForms,
  swarm,
  locks,
  leases,
  hooks,
  relay,
  'hand-over': handOver,
  hosts,
  watcher,
  merge,
  metrics,
  replay,
  isolated,
  commit,
  land,
  persistence,
  transactions,
  unsaved,
  bounds,
  peers,
  'lost-updates': lostUpdates,
  tokens,
  clients,
  load,
  greedy,
  board,
  moments,
  growth,
  targets
}

endWithNpm('bench')
const args = process.argv.slice(2)
const isForDocs = args.includes('--docs')
const wanted = readArguments()
console.log(`Node ${process.versions.node}, ${availableParallelism()} cores`)
const start = performance.now()
for (const { name, options } of wanted) {
  await benchmarks[name]?.(options)
  const tables = takeTables()
  if (isForDocs) console.log(`\nput into docs/: ${writeTables(name, tables)} of ${tables.length} tables`)
}
console.log(`\ntook ${Math.round((performance.now() - start) / 1000)} s`)

function readArguments(): Wanted[] {
  try {
    const names = Object.keys(benchmarks)
    // The first measures nothing that the others do not; the others need a browser, and clients of other makers.
    const usual = names.filter((name) => !['targets', 'board', 'clients'].includes(name))
    return parseArguments(
      args.filter((arg) => arg !== '--docs'),
      names,
      usual
    )
  } catch (error) {
    console.error((error as Error).message)
    return process.exit(1)
  }
}
