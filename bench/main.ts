// npm run bench [-- hot-path | file-editing | contention | swarm | locks | leases | relay | watcher | merge | replay[=repository] |
// persistence | bounds]: runs the benchmarks and prints their tables.
import { availableParallelism } from 'node:os'
import { bounds } from './subjects/bounds.ts'
import { contentionSize } from './subjects/contention-size.ts'
import { fileEditing } from './subjects/file-editing.ts'
import { hotPath } from './subjects/hot-path.ts'
import { leases } from './subjects/leases.ts'
import { locks } from './subjects/locks.ts'
import { merge } from './subjects/merge.ts'
import { persistence } from './subjects/persistence.ts'
import { relay } from './subjects/relay.ts'
import { replay } from './subjects/replay.ts'
import { swarm } from './subjects/swarm.ts'
import { watcher } from './subjects/watcher.ts'

const benchmarks: Readonly<Record<string, (argument?: string) => Promise<void>>> = {
  'hot-path': hotPath,
  'file-editing': fileEditing,
  contention: contentionSize,
  swarm,
  locks,
  leases,
  relay,
  watcher,
  merge,
  replay,
  persistence,
  bounds
}

const given = process.argv.slice(2)
const wanted = (given.length > 0 ? given : Object.keys(benchmarks)).map(
  (word) => word.split('=', 2) as [string, string?]
)
const unknown = wanted.map(([name]) => name).filter((name) => !(name in benchmarks))
if (unknown.length > 0) {
  console.error(`unknown benchmark: ${unknown.join(', ')}. Known: ${Object.keys(benchmarks).join(', ')}`)
  process.exit(1)
}
console.log(`Node ${process.versions.node}, ${availableParallelism()} cores`)
const start = performance.now()
for (const [name, argument] of wanted) await benchmarks[name]?.(argument)
console.log(`\ntook ${Math.round((performance.now() - start) / 1000)} s`)
