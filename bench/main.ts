// npm run bench [-- hot-path | file-editing | contention | swarm | locks | leases | relay | watcher]: runs the benchmarks and prints their tables.
import { availableParallelism } from 'node:os'
import { contentionSize } from './contention-size.ts'
import { fileEditing } from './file-editing.ts'
import { hotPath } from './hot-path.ts'
import { leases } from './leases.ts'
import { locks } from './locks.ts'
import { relay } from './relay.ts'
import { swarm } from './swarm.ts'
import { watcher } from './watcher.ts'

const benchmarks: Readonly<Record<string, () => Promise<void>>> = {
  'hot-path': hotPath,
  'file-editing': fileEditing,
  contention: contentionSize,
  swarm,
  locks,
  leases,
  relay,
  watcher
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !(name in benchmarks))
if (unknown.length > 0) {
  console.error(`unknown benchmark: ${unknown.join(', ')}. Known: ${Object.keys(benchmarks).join(', ')}`)
  process.exit(1)
}
console.log(`Node ${process.versions.node}, ${availableParallelism()} cores`)
const start = performance.now()
for (const name of names.length > 0 ? names : Object.keys(benchmarks)) await benchmarks[name]?.()
console.log(`\ntook ${Math.round((performance.now() - start) / 1000)} s`)
