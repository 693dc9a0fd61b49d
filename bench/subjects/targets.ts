// The whole table of targets for speed and weight, from one run: against other servers, an empty route, the bare file work, re-reading.
import { transports } from '../../test/fixtures/clients.ts'
import { startFloors } from '../floors/floors.ts'
import { runLoad, warmUp } from '../load/load.ts'
import { startScene } from '../load/scene.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { installPackages, loadTokenCounter } from '../peers/packages.ts'
import { targeted } from '../peers/servers.ts'
import { medianRatio } from '../statistics.ts'
import { printTargets, type Target } from '../targets.ts'
import { countTokens } from '../tokens.ts'
import { measureContention } from './contention-size.ts'
import { measurePeers } from './peers.ts'

const rounds = 5
const connections = 10
const usualSeconds = 2

export async function targets(options: Options): Promise<void> {
  const measured = [
    ...(await measurePeers(options, { servers: targeted, clients: ['raw messages'] })),
    ...(await measureReads(options)),
    await measureUpdates(options),
    await measureAnswer()
  ]
  printTargets('the targets, the missed ones first', measured)
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
        wanted: { atLeast: 0.5 }
      },
      { what: `${what}: MCP of 2026, of REST`, measured: ofRest('mcp-2026'), wanted: { atLeast: 0.6 } },
      { what: `${what}: MCP of 2025, of REST`, measured: ofRest('mcp-2025'), wanted: { atLeast: 0.6 } }
    ]
  })
}

function measureUpdates({ seconds = usualSeconds }: Options): Promise<Target> {
  return withOwner(async (owner) => {
    const roundMs = (seconds * 1000) / rounds
    const floors = await startFloors(owner)
    const scene = await startScene(owner, { operation: 'update', size: '10 KB', transport: 'rest', floors })
    const { ours, files } = await scene.contest(connections, roundMs)
    await warmUp(ours)
    const [own, bare]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await files())
      own.push((await runLoad(ours, roundMs)).perSecond)
    }
    return {
      what: `durable update 10 KB, REST, ${connections} connections, of the bare file work`,
      measured: medianRatio(own, bare),
      wanted: { atLeast: 0.5 }
    }
  })
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
