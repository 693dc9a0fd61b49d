// Any moment among 10,000 changes: the list of files, a text with its authors, and who held what, over REST, beside a plain read of the same file.
import { createRandom } from '../../test/fixtures/random.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { percentile } from '../statistics.ts'
import { figure, printTable, whole } from '../table.ts'
import { printTargets } from '../targets.ts'

const changes = 10_000
const atOnce = 16
const asked = 300
const wantedMs = 200
/** As the board asks. */
const listed = 2000

export async function moments({ files = 1000 }: Options): Promise<void> {
  console.log(`\n## moments: ${asked} moments among ${changes} changes of ${files} files`)
  await withOwner(async (owner) => {
    const random = createRandom(Number(process.env['BENCH_SEED'] ?? 1))
    const pathOf = (index: number) => `packages/part-${index % 20}/src/file-${index}.ts`
    const tree = makeTree(owner)
    for (let index = 0; index < files; index += 1) tree.write(pathOf(index), 'const line = 1\n'.repeat(100))
    const { url } = await startProgram(owner, ['--dir', tree.root])
    let made = 0
    const change = async (agent: number): Promise<void> => {
      while (made < changes) {
        made += 1
        const path = pathOf(Math.floor(random() * files))
        await post(url, 'async_append', { path, content: `const made = ${made}\n`, agent_id: `agent-${agent}` })
      }
    }
    await Promise.all(Array.from({ length: atOnce }, (_, agent) => change(agent)))
    const log = (await post(url, 'replay', { with_log: true, limit: 0 })) as { log: { seqs: number[] } }
    const { seqs } = log.log
    const [ours, floor]: [number[], number[]] = [[], []]
    for (let index = 0; index < asked; index += 1) {
      const path = pathOf(Math.floor(random() * files))
      const seq = seqs[Math.floor(random() * seqs.length)]
      floor.push(await timed(() => post(url, 'async_read', { path })))
      ours.push(await timed(() => post(url, 'replay', { seq, path, limit: listed })))
    }
    const opening = await timed(() => post(url, 'replay', { with_log: true, limit: 0 }))
    const row = (what: string, samples: number[]) => [
      what,
      ...[50, 99, 100].map((percent) => figure(percentile(samples, percent)))
    ]
    printTable(
      `${whole(seqs.length)} changes, ${whole(files)} files`,
      ['milliseconds', 'p50', 'p99', 'longest'],
      [row('a moment', ours), row('the file as it is now', floor), row('the log, when the page is opened', [opening])]
    )
    printTargets('moments', [
      {
        what: 'any moment among 10,000 changes',
        measured: percentile(ours, 100),
        wanted: { atMost: wantedMs },
        unit: 'ms'
      }
    ])
  })
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

async function post(url: string, operation: string, input: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/${operation}`, { method: 'POST', headers, body: JSON.stringify(input) })
  if (!response.ok) throw new Error(`${operation}: ${await response.text()}`)
  return response.json()
}
