// Hundreds of agents over thousands of files: rate, waits and memory, while they work and after.
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { firstLine, kinds, pathOf, type AgentsReport, type AgentsTask } from '../agents/agents.ts'
import { canPin, forkOnFirstCore, freeFirstCore } from '../agents/pinned.ts'
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

interface Outcome {
  readonly report: AgentsReport
  /** Resident MB before the load, during it in equal steps, and a minute after it. */
  readonly before: number
  readonly during: readonly number[]
  readonly after: number
  /** Of the server, as a part of one core. */
  readonly processorShare: number
}

export async function load({ agents = 500, files = 10_000, seconds = 30 }: Options): Promise<void> {
  console.log(`\n## load: ${whole(agents)} agents over ${whole(files)} files of 10 KB for ${whole(seconds)} s`)
  if (!canPin) console.log('\ntaskset is not there: server and load take time from each other')
  const outcome = await withOwner((owner) => measure(owner, agents, files, seconds))
  printOutcome(outcome)
  printTargets('the targets', targetsOf(outcome, seconds))
}

async function measure(owner: Owner, agents: number, files: number, seconds: number): Promise<Outcome> {
  const { root } = makeTree(owner)
  const text = sourceText(fileBytes - firstLine(0, 0).length)
  for (let index = 0; index < files; index += 1) {
    const path = join(root, pathOf(index))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, firstLine(index, 0) + text)
  }
  const { url, process: server } = await startProgram(owner, ['--dir', root])
  freeFirstCore(server.pid)
  await delay(sampleMs)
  const before = residentMb(server.pid)
  const during: number[] = []
  const sampling = setInterval(() => during.push(residentMb(server.pid)), sampleMs)
  owner.teardown(() => clearInterval(sampling))
  const used = processorMs(server.pid)
  const begun = performance.now()
  const generator = forkOnFirstCore(owner, new URL('../agents/agents.js', import.meta.url))
  generator.send({ url, agents, files, ms: seconds * 1000, text } satisfies AgentsTask)
  const [report] = (await once(generator, 'message')) as [AgentsReport]
  clearInterval(sampling)
  const processorShare = (processorMs(server.pid) - used) / (performance.now() - begun)
  await delay(restMs)
  return { report, before, during, after: residentMb(server.pid), processorShare }
}

function printOutcome({ report, before, during, after, processorShare }: Outcome): void {
  const rows = ([...kinds, 'all'] as const).map((kind) => {
    const { calls, p50, p99, most } = report.waitsMs[kind]
    return [kind, whole(calls), whole(calls / report.seconds), figure(p50), figure(p99), figure(most)]
  })
  printTable('calls', ['kind', 'calls', 'per second', 'p50 ms', 'p99 ms', 'most ms'], rows)
  const at = (part: number) => during[Math.min(during.length - 1, Math.floor(during.length * part))] ?? NaN
  const moments = [before, at(0.1), at(0.25), at(0.5), at(0.75), at(1), Math.max(...during), after]
  const head = ['', 'before', '10 %', '25 %', '50 %', '75 %', 'end', 'most', '1 min later']
  printTable('resident memory of the server', head, [['MB', ...moments.map(figure)]])
  const errors = Object.entries(report.errors).map(([error, count]) => `${error} (${whole(count)} times)`)
  console.log(
    `\nErrors: ${errors.join(', ') || 'none'}. Updates that came too late: ${whole(report.contentions)}. ` +
      `Of a core the server used ${percent(processorShare)}, the load ${percent(report.processorShare)}.`
  )
}

function targetsOf({ report, before, during, after }: Outcome, seconds: number): Target[] {
  const { all, update } = report.waitsMs
  const updates = update.calls - report.contentions
  const part = (from: number, to: number) =>
    median(during.slice(Math.floor(during.length * from), Math.ceil(during.length * to)))
  // What grows in less than an hour says nothing of what it would be after one.
  const drift = seconds < hour ? NaN : ((part(0.9, 1) - part(0.1, 0.2)) * hour) / (0.8 * seconds)
  return [
    { what: 'calls', measured: all.calls / report.seconds, wanted: { atLeast: 2000 }, unit: '/s' },
    { what: 'durable updates', measured: updates / report.seconds, wanted: { atLeast: 500 }, unit: '/s' },
    { what: 'p99 of all calls', measured: all.p99, wanted: { atMost: 500 }, unit: 'ms' },
    { what: 'memory, most', measured: Math.max(...during), wanted: { atMost: 300 }, unit: 'MB' },
    { what: 'memory a minute later, of that before', measured: after / before, wanted: { atMost: 1.2 } },
    { what: 'drift in an hour (--seconds 3600)', measured: drift, wanted: { atMost: 20 }, unit: 'MB' }
  ]
}
