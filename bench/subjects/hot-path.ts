// Reads and durable updates through the real program, against the bare file work (a) and an empty Fastify route (b), measured in turn.
import { transports } from '../../test/fixtures/clients.ts'
import { startFloors } from '../floors/floors.ts'
import { warmUp } from '../load/load.ts'
import { otherWays } from './other-ways.ts'
import { withOwner } from '../owner.ts'
import { contestHead, runContest } from '../load/rounds.ts'
import { connectionCounts, sizes, startScene, type SceneOptions } from '../load/scene.ts'
import { figure, printTable, whole, type Row } from '../table.ts'

export async function hotPath(): Promise<void> {
  console.log('\n## hot-path: reads and durable updates per second, against their floors')
  await withOwner(async (owner) => {
    const floors = await startFloors(owner)
    for (const operation of ['read', 'update'] as const) {
      for (const size of Object.keys(sizes) as SceneOptions['size'][]) {
        const rows: Row[] = []
        for (const transport of transports) rows.push(...(await measure({ operation, size, transport, floors })))
        printTable(`${operation}, ${size}`, ['transport', 'connections', ...contestHead, 'loop p99 ms'], rows)
      }
    }
    printTable('10 connections, other ways', ['what', ...contestHead], await otherWays(owner, floors))
  })
}

function measure(options: SceneOptions): Promise<Row[]> {
  return withOwner(async (owner) => {
    const scene = await startScene(owner, options)
    await warmUp((await scene.contest(10)).ours)
    const rows: Row[] = []
    for (const count of connectionCounts) {
      const figures = await runContest(await scene.contest(count))
      rows.push([options.transport, whole(count), ...figures, figure(await scene.loopDelay())])
    }
    return rows
  })
}
