// The whole table of targets for speed and weight, from one run: against other servers, an empty route, the bare file work, re-reading.
import { transports } from '../../test/fixtures/clients.ts'
import { startFloors } from '../floors/floors.ts'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import { startScene } from '../load/scene.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { installPackages, loadTokenCounter } from '../peers/packages.ts'
import { targeted } from '../peers/servers.ts'
import { mainThreadMs } from '../process-use.ts'
import { medianRatio } from '../statistics.ts'
import { figure } from '../table.ts'
import { printTargets, type Target } from '../targets.ts'
import { countTokens } from '../tokens.ts'
import { measureContention } from './contention-size.ts'
import { measurePeers } from './peers.ts'
import { startTransactions, timeTransactions } from './transactions.ts'

const rounds = 5
const connections = 10
const writers = 50
const usualSeconds = 2

export async function targets(options: Options): Promise<void> {
  const { runs = 1 } = options
  const measured: Target[][] = []
  for (let run = 0; run < runs; run += 1) measured.push(await measureAll(options))
  printTargets('the targets, the missed ones first', ...measured)
}

async function measureAll(options: Options): Promise<Target[]> {
  return [
    ...(await measurePeers(options, { servers: targeted, clients: ['raw messages'] })),
    ...(await measureReads(options)),
    ...(await measureUpdates(options)),
    await measureDelay(options),
    await measureTransactions(),
    await measureAnswer()
  ]
}

/** REST, its empty route, and both eras of MCP in turn. */
function measureReads({ seconds = usualSeconds }: Options): Promise<Target[]> {
  return withOwner(async (owner) => {
    const floors = await startFloors(owner)
    const contests = []
    for (const transport of transports) {
      const scene = await startScene(owner, { operation: 'read', size: '10 KB', transport, floors })
      const contest = await scene.contest(connections)
      await warmUp(contest.ours)
      contests.push({ transport, ...contest })
    }
    const rates: Record<(typeof transports)[number] | 'route', number[]> = {
      rest: [],
      'mcp-2026': [],
      'mcp-2025': [],
      route: []
    }
    const roundMs = (seconds * 1000) / rounds
    for (let round = 0; round < rounds; round += 1)
      for (const { transport, ours, route } of contests) {
        rates[transport].push((await runLoad(ours, roundMs)).perSecond)
        if (transport === 'rest') rates.route.push((await runLoad(route, roundMs)).perSecond)
      }
    const what = `read 10 KB, ${connections} connections`
    const ofRest = (era: 'mcp-2026' | 'mcp-2025') => medianRatio(rates[era], rates.rest)
    return [
      {
        what: `${what}: REST, of an empty route`,
        measured: medianRatio(rates.rest, rates.route),
        wanted: { atLeast: 0.4 }
      },
      { what: `${what}: MCP of 2026, of REST`, measured: ofRest('mcp-2026'), wanted: { atLeast: 0.6 } },
      { what: `${what}: MCP of 2025, of REST`, measured: ofRest('mcp-2025'), wanted: { atLeast: 0.6 } }
    ]
  })
}

function measureUpdates({ seconds = usualSeconds }: Options): Promise<Target[]> {
  return withOwner(async (owner) => {
    const roundMs = (seconds * 1000) / rounds
    const floors = await startFloors(owner)
    const scene = await startScene(owner, { operation: 'update', size: '10 KB', transport: 'rest', floors })
    const { ours, route, files } = await scene.contest(connections, roundMs)
    await warmUp(ours)
    await warmUp(route)
    const bare: number[] = []
    const [own, empty]: [Use[], Use[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await files())
      own.push(await useOf(scene.pid, ours, roundMs))
      empty.push(await useOf(floors.routePid, route, roundMs))
    }
    const mainMs = (uses: readonly Use[]) => uses.map((use) => use.mainMs)
    const what = `durable update 10 KB, REST, ${connections} connections`
    return [
      {
        what: `${what}, of the bare file work`,
        measured: medianRatio(
          own.map(({ perSecond }) => perSecond),
          bare
        ),
        wanted: { atLeast: 0.5 }
      },
      {
        what: `${what}: main thread a call, of an empty route`,
        measured: medianRatio(mainMs(own), mainMs(empty)),
        wanted: { atMost: 14 }
      }
    ]
  })
}

interface Use {
  readonly perSecond: number
  /** Processor time of the server's main thread, a call. */
  readonly mainMs: number
}

async function useOf(pid: number | undefined, senders: readonly Send[], ms: number): Promise<Use> {
  const before = mainThreadMs(pid)
  const { perSecond, latenciesMs } = await runLoad(senders, ms)
  return { perSecond, mainMs: (mainThreadMs(pid) - before) / latenciesMs.length }
}

/** How late timers run while many write at once, beside the empty route under the same load. */
function measureDelay({ seconds = usualSeconds }: Options): Promise<Target> {
  return withOwner(async (owner) => {
    const roundMs = (seconds * 1000) / rounds
    const floors = await startFloors(owner)
    const scene = await startScene(owner, { operation: 'update', size: '10 KB', transport: 'rest', floors })
    const { ours, route } = await scene.contest(writers)
    await warmUp(ours)
    await warmUp(route)
    const [own, empty]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      await scene.recentDelay()
      await runLoad(ours, roundMs)
      own.push(await scene.recentDelay())
      await floors.routeDelay()
      await runLoad(route, roundMs)
      empty.push(await floors.routeDelay())
    }
    const list = (delays: readonly number[]) => delays.map(figure).join(', ')
    console.log(
      `\nEvent loop delay p99 with ${writers} writers: ${list(own)} ms; of the empty route: ${list(empty)} ms`
    )
    return {
      what: `event loop delay p99, ${writers} writers, of an empty route`,
      measured: medianRatio(own, empty),
      wanted: { atMost: 2 }
    }
  })
}

async function measureTransactions(): Promise<Target> {
  const { single, together } = await withOwner(async (owner) => timeTransactions(await startTransactions(owner)))
  return {
    what: 'transaction of 20 files: time, of 20 single updates',
    measured: together / single,
    wanted: { atMost: 0.6 }
  }
}

async function measureAnswer(): Promise<Target> {
  const isExact = installPackages() === undefined
  const count = isExact ? loadTokenCounter() : countTokens
  const answers = await withOwner((owner) => measureContention(owner, 1000, 3, count))
  return {
    what: `contention, 1,000 lines, 3 changed: tokens (${isExact ? 'o200k' : 'approx.'}), of re-reading`,
    measured: answers.contention.tokens / answers['re-reading'].tokens,
    wanted: { atMost: 0.04 },
    unit: '%'
  }
}
