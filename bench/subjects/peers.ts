// This server against two that agents use instead, over stdio: rates, starts, memory, the size of an answer.
import type { Options } from '../options.ts'
import { installPackages, loadTokenCounter, packageVersion } from '../peers/packages.ts'
import { clients } from '../peers/connect.ts'
import { ours, reference, servers } from '../peers/servers.ts'
import { median, medianRatio } from '../statistics.ts'
import { figure, printTable, whole } from '../table.ts'
import { printTargets, type Target } from '../targets.ts'
import { answerRows, answersHead } from './peers-answers.ts'
import { measureRates, type Rate, type Scope } from './peers-rates.ts'
import { measureStarts, type Start } from './peers-start.ts'

const usualSeconds = 2

export async function peers(options: Options): Promise<void> {
  const targets = await measurePeers(options, { servers, clients })
  if (targets.length > 0) printTargets('the targets, against server-filesystem in the same run', targets)
}

/** Prints its tables. @returns nothing if the others cannot be installed, and says so */
export async function measurePeers({ seconds = usualSeconds }: Options, scope: Scope): Promise<Target[]> {
  console.log('\n## peers: this server and two others over stdio, in turn')
  const failure = installPackages()
  if (failure !== undefined) {
    console.log(`\nskipped: there is nothing to compare with. ${failure}`)
    return []
  }
  const names = ['@modelcontextprotocol/server-filesystem', '@wonderwhy-er/desktop-commander'] as const
  console.log(`\n${names.map((name) => `${name} ${packageVersion(name)}`).join(', ')}`)
  const rates = await measureRates(scope, seconds)
  printRates(rates)
  const starts = await measureStarts(scope.servers, seconds)
  printStarts(starts)
  printTable('the size of an answer; tokens by o200k', answersHead, await answerRows(scope.servers, loadTokenCounter()))
  return [...rateTargets(rates), ...startTargets(starts)]
}

function printRates(rates: readonly Rate[]): void {
  const head = ['work, client, in flight', 'server', 'per second', 'p50 ms', 'p99 ms', 'processor us a call', 'of it']
  const rows = rates.map((rate) => [
    `${rate.work}, ${rate.client}, ${rate.inFlight}`,
    rate.server,
    whole(median(rate.perSecond)),
    figure(rate.p50Ms),
    figure(rate.p99Ms),
    whole(rate.processorUs),
    figure(medianRatio(rate.perSecond, find(rates, { ...rate, server: reference.name })?.perSecond ?? []))
  ])
  printTable('calls; "of it" is the rate against that of server-filesystem', head, rows)
}

function printStarts(starts: readonly Start[]): void {
  const head = ['server', 'first answer ms', 'first 200 per s', 'settled per s', 'of settled', 'idle MB', 'PSS MB']
  const rows = starts.map((start) => [
    start.server,
    whole(median(start.firstAnswerMs)),
    whole(start.firstPerSecond),
    whole(start.settledPerSecond),
    figure(start.firstPerSecond / start.settledPerSecond),
    figure(start.residentMb),
    figure(start.proportionalMb)
  ])
  printTable('start, first calls (10 in flight), memory 5 s after them', head, rows)
}

type Key = Pick<Rate, 'server' | 'work' | 'client' | 'inFlight'>

function find(rates: readonly Rate[], { server, work, client, inFlight }: Key): Rate | undefined {
  return rates.find(
    (rate) => rate.server === server && rate.work === work && rate.client === client && rate.inFlight === inFlight
  )
}

function rateTargets(rates: readonly Rate[]): Target[] {
  const get = (server: string, work: Rate['work']) =>
    find(rates, { server, work, client: 'raw messages', inFlight: 10 })
  const faster = (server: string, work: Rate['work']) =>
    medianRatio(get(server, work)?.perSecond ?? [], get(reference.name, work)?.perSecond ?? [])
  const processor = (get(ours.name, 'read')?.processorUs ?? NaN) / (get(reference.name, 'read')?.processorUs ?? NaN)
  return [
    { what: 'read 10 KB, stdio, 10 in flight: rate', measured: faster(ours.name, 'read'), wanted: { atLeast: 1.2 } },
    { what: 'read 10 KB, stdio, 10 in flight: processor time', measured: processor, wanted: { atMost: 0.9 } },
    {
      what: 'durable edit 10 KB, stdio, 10 in flight: rate',
      measured: faster(ours.name, 'edit'),
      wanted: { atLeast: 1.2 }
    },
    {
      what: 'edit 10 KB, durability: rename, 10 in flight: rate',
      measured: faster(`${ours.name}, durability: rename`, 'edit'),
      wanted: { atLeast: 1.2 }
    },
    {
      what: 'list of 1,000 with line counts, 10 in flight: rate',
      measured: faster(`${ours.name}, --tools all,files`, 'list'),
      wanted: { atLeast: 4 }
    }
  ]
}

function startTargets(starts: readonly Start[]): Target[] {
  const get = (server: string) => starts.find((start) => start.server === server)
  const [own, theirs] = [get(ours.name), get(reference.name)]
  return [
    {
      what: 'start to the first answer: time',
      measured: medianRatio(own?.firstAnswerMs ?? [], theirs?.firstAnswerMs ?? []),
      wanted: { atMost: 1 }
    },
    {
      what: 'the first 200 calls: rate, of the settled one',
      measured: (own?.firstPerSecond ?? NaN) / (own?.settledPerSecond ?? NaN),
      wanted: { atLeast: 0.5 }
    },
    {
      what: 'idle memory',
      measured: (own?.residentMb ?? NaN) / (theirs?.residentMb ?? NaN),
      wanted: { atMost: 1.2 }
    }
  ]
}
