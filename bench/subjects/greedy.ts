// How much longer one client's small calls take while another asks for as much as it can.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { greeds, makeLargeFiles, type GreedyTask } from '../agents/greedy.ts'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import { RawConnection } from '../load/raw-connection.ts'
import type { Options } from '../options.ts'
import { withOwner, type Owner } from '../owner.ts'
import { sourceText } from '../sources.ts'
import { percentile } from '../statistics.ts'
import { figure, printTable, type Row } from '../table.ts'
import { printTargets, type Target } from '../targets.ts'

const rounds = 2
const smallBytes = 10_240
const sliceMs = 50
/** Of the calls alone, in each round. */
const usualSeconds = 2
const longerAtMostMs = 100

type Greed = keyof typeof greeds

interface Outcome {
  readonly greed: Greed
  readonly alone: number[]
  readonly beside: number[]
  /** What the greedy client was answered. */
  readonly answers: Record<string, number>
  readonly greedyMs: number
}

export async function greedy(options: Options): Promise<void> {
  printTargets('the targets: how much longer the longest small call takes than alone', await measureGreedy(options))
}

export async function measureGreedy({ seconds = usualSeconds }: Options): Promise<Target[]> {
  console.log('\n## greedy: small calls of one client while another asks for as much as it can')
  const outcomes: Outcome[] = []
  for (const greed of Object.keys(greeds) as Greed[])
    outcomes.push(await withOwner((owner) => measure(owner, greed, seconds * 1000)))
  const head = ['meanwhile', 'alone p50 ms', 'p99', 'most', 'beside p50 ms', 'p99', 'most', 'answers', 'took ms']
  printTable('reads of 10 KB on one connection', head, outcomes.map(rowOf))
  return outcomes.map(({ greed, alone, beside }) => ({
    what: `${greeds[greed]} ${greed}`,
    measured: Math.max(...beside) - Math.max(...alone),
    wanted: { atMost: longerAtMostMs },
    unit: 'ms'
  }))
}

/** A server of its own, so that what one greed leaves behind is not counted to the next. */
async function measure(owner: Owner, greed: Greed, aloneMs: number): Promise<Outcome> {
  const { root } = makeTree(owner)
  const count = greeds[greed]
  if (greed !== 'bodies of 10 MB') makeLargeFiles(root, count)
  writeFileSync(join(root, 'small'), sourceText(smallBytes))
  const { url } = await startProgram(owner, ['--dir', root])
  const read = await smallReads(owner, url)
  await warmUp([read])
  const client = fork(fileURLToPath(new URL('../agents/greedy-client.js', import.meta.url)))
  owner.teardown(() => client.kill())
  const outcome = { greed, alone: [] as number[], beside: [] as number[], answers: {} as Record<string, number> }
  let greedyMs = 0
  for (let round = 0; round < rounds; round += 1) {
    outcome.alone.push(...(await runLoad([read], aloneMs)).latenciesMs)
    const begun = performance.now()
    const answers = await besideGreed(client, { url, greed, count, round }, async () => {
      outcome.beside.push(...(await runLoad([read], sliceMs)).latenciesMs)
    })
    greedyMs += performance.now() - begun
    for (const [status, times] of Object.entries(answers))
      outcome.answers[status] = (outcome.answers[status] ?? 0) + times
  }
  return { ...outcome, greedyMs: greedyMs / rounds }
}

/** Takes slices until the greedy client has been answered everything. */
async function besideGreed(client: ChildProcess, task: GreedyTask, slice: () => Promise<void>) {
  client.send(task)
  await once(client, 'message')
  const progress = { isOver: false }
  const answered = once(client, 'message').finally(() => (progress.isOver = true))
  while (!progress.isOver) await slice()
  const [answers] = (await answered) as [Record<string, number>]
  return answers
}

async function smallReads(owner: Owner, url: string): Promise<Send> {
  const connection = await RawConnection.open(url, owner)
  const body = '{"path":"small"}'
  const head = `POST /async_read HTTP/1.1\r\nhost: ${new URL(url).host}\r\ncontent-type: application/json\r\n`
  const request = Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`)
  return async () => {
    const { status, body } = await connection.send(request)
    if (status !== 200) throw new Error(`a small read was answered ${status} ${body.toString()}`)
  }
}

function rowOf({ greed, alone, beside, answers, greedyMs }: Outcome): Row {
  const waits = [alone, beside].flatMap((samples) => [50, 99, 100].map((rank) => figure(percentile(samples, rank))))
  const told = Object.entries(answers).map(([status, times]) => `${times} x ${status}`)
  return [`${greeds[greed]} ${greed}`, ...waits, told.join(', '), figure(greedyMs)]
}
