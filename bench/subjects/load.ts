// Hundreds of agents over thousands of files: rate, waits and memory, while they work and after.
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startProgram, type RunningProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { firstLine, kinds, pathOf, type AgentsReport, type AgentsTask } from '../agents/agents.ts'
import { canPin, forkOnFirstCore, freeFirstCore } from '../agents/pinned.ts'
import { startServerFloor } from '../floors/floors.ts'
import type { Options } from '../options.ts'
import { withOwner, type Owner } from '../owner.ts'
import { processorMs, residentMb } from '../process-use.ts'
import { sourceText } from '../sources.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole } from '../table.ts'
import { printTargets, type Target } from '../targets.ts'

const fileBytes = 10_240
const restMs = 60_000
const sampleMs = 500
const hour = 3600

/** Seconds that a plain file server is measured for, at most. */
const floorSeconds = 30

interface Tree {
  readonly root: string
  /** What each file has, behind its first line. */
  readonly text: string
}

interface Outcome {
  readonly report: AgentsReport
  /** Resident MB before the load, and during it in equal steps. */
  readonly before: number
  readonly during: readonly number[]
  /** Of the server, as a part of one core. */
  readonly processorShare: number
}

interface WithRest extends Outcome {
  /** Resident MB a minute after the load. */
  readonly after: number
}

export async function load({ agents = 500, files = 10_000, seconds = 30 }: Options): Promise<void> {
  console.log(`\n## load: ${whole(agents)} agents over ${whole(files)} files of 10 KB for ${whole(seconds)} s`)
  if (!canPin) console.log('\ntaskset is not there: server and load take time from each other')
  const floor = await withOwner(async (owner) => {
    const { root, text } = makeFiles(owner, files)
    const ms = Math.min(seconds, floorSeconds) * 1000
    return measure(owner, await startServerFloor(owner, root), { agents, files, ms, text })
  })
  const outcome = await withOwner(async (owner) => {
    const { root, text } = makeFiles(owner, files)
    const server = await startProgram(owner, ['--dir', root])
    const measured = await measure(owner, server, { agents, files, ms: seconds * 1000, text })
    await delay(restMs)
    return { ...measured, after: residentMb(server.process.pid) }
  })
  printOutcome(outcome, floor)
  printTargets('the targets; the floor is a plain file server', targetsOf(outcome, floor, seconds))
}

function makeFiles(owner: Owner, files: number): Tree {
  const { root } = makeTree(owner)
  const text = sourceText(fileBytes - firstLine(0, 0).length)
  for (let index = 0; index < files; index += 1) {
    const path = join(root, pathOf(index))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, firstLine(index, 0) + text)
  }
  return { root, text }
}

async function measure(
  owner: Owner,
  { url, process: { pid } }: Pick<RunningProgram, 'url' | 'process'>,
  task: Omit<AgentsTask, 'url'>
): Promise<Outcome> {
  freeFirstCore(pid)
  await delay(sampleMs)
  const before = residentMb(pid)
  const during: number[] = []
  const sampling = setInterval(() => during.push(residentMb(pid)), sampleMs)
  owner.teardown(() => clearInterval(sampling))
  const used = processorMs(pid)
  const begun = performance.now()
  const generator = forkOnFirstCore(owner, new URL('../agents/agents.js', import.meta.url))
  generator.send({ url, ...task } satisfies AgentsTask)
  const [report] = (await once(generator, 'message')) as [AgentsReport]
  clearInterval(sampling)
  const processorShare = (processorMs(pid) - used) / (performance.now() - begun)
  return { report, before, during, processorShare }
}

function printOutcome(outcome: WithRest, floor: Outcome): void {
  const { report, before, during, after } = outcome
  const rows = ([...kinds, 'all'] as const).map((kind) => {
    const { calls, p50, p99, most } = report.waitsMs[kind]
    const bare = floor.report.waitsMs[kind]
    const [rate, bareRate] = [calls / report.seconds, bare.calls / floor.report.seconds]
    return [
      kind,
      whole(calls),
      whole(rate),
      figure(p50),
      figure(p99),
      figure(most),
      whole(bareRate),
      figure(bare.p50),
      figure(bare.p99),
      percent(rate / bareRate)
    ]
  })
  const columns = ['kind', 'calls', 'per second', 'p50 ms', 'p99 ms', 'most ms', 'floor', 'p50 ms', 'p99 ms', 'of it']
  printTable('calls; floor: a plain file server', columns, rows)
  const at = (part: number) => during[Math.min(during.length - 1, Math.floor(during.length * part))] ?? NaN
  const moments = [before, at(0.1), at(0.25), at(0.5), at(0.75), at(1), Math.max(...during), after]
  const head = ['', 'before', '10 %', '25 %', '50 %', '75 %', 'end', 'most', '1 min later']
  printTable('resident memory of the server', head, [['MB', ...moments.map(figure)]])
  for (const [name, { report: its, processorShare }] of Object.entries({ server: outcome, floor })) {
    const errors = Object.entries(its.errors).map(([error, count]) => `${error} (${whole(count)} times)`)
    console.log(
      `\nErrors of the ${name}: ${errors.join(', ') || 'none'}. Updates that came too late: ${whole(its.contentions)}. ` +
        `Of a core the ${name} used ${percent(processorShare)}, the load ${percent(its.processorShare)}.`
    )
  }
  console.log(
    `\nResident memory of the floor: ${figure(floor.before)} MB before, ${figure(Math.max(...floor.during))} at most.`
  )
}

function targetsOf({ report, before, during, after }: WithRest, floor: Outcome, seconds: number): Target[] {
  const { all } = report.waitsMs
  const bare = floor.report.waitsMs.all
  const part = (from: number, to: number) =>
    median(during.slice(Math.floor(during.length * from), Math.ceil(during.length * to)))
  // What grows in less than an hour says nothing of what it would be after one.
  const drift = seconds < hour ? NaN : ((part(0.9, 1) - part(0.1, 0.2)) * hour) / (0.8 * seconds)
  return [
    {
      what: "calls a second, of the floor's",
      measured: all.calls / report.seconds / (bare.calls / floor.report.seconds),
      wanted: { atLeast: 0.4 }
    },
    { what: "p99 of all calls, of the floor's", measured: all.p99 / bare.p99, wanted: { atMost: 3 } },
    { what: 'memory, most', measured: Math.max(...during), wanted: { atMost: 350 }, unit: 'MB' },
    { what: 'memory a minute later, of that before', measured: after / before, wanted: { atMost: 2 } },
    { what: 'drift in an hour (--seconds 3600)', measured: drift, wanted: { atMost: 20 }, unit: 'MB' }
  ]
}
