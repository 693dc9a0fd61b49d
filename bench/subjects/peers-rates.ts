// Calls a second of each server, in turn, and the processor time that a call takes of it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTree } from '../../test/fixtures/tree.ts'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import { counter } from '../load/subject.ts'
import { withOwner, type Owner } from '../owner.ts'
import { senderOf, start, type ClientKind, type Running } from '../peers/connect.ts'
import { works, type PeerServer, type Work } from '../peers/servers.ts'
import { processorMs } from '../process-use.ts'
import { sourceText } from '../sources.ts'
import { percentile } from '../statistics.ts'

export interface Rate {
  readonly server: string
  readonly work: Work
  readonly client: ClientKind
  readonly inFlight: number
  /** Of each round. */
  readonly perSecond: readonly number[]
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server a call, all threads. */
  readonly processorUs: number
}

export const inFlightCounts = [1, 10] as const
const rounds = 5
export const fileBytes = 10_240
const listedFiles = 1000

export interface Scope {
  readonly servers: readonly PeerServer[]
  readonly clients: readonly ClientKind[]
}

/** @param seconds of each figure, over all rounds */
export async function measureRates({ servers, clients }: Scope, seconds: number): Promise<Rate[]> {
  const rates: Rate[] = []
  for (const work of works) {
    const contenders = servers.filter((server) => server.works.includes(work))
    for (const client of clients)
      rates.push(
        ...(await withOwner((owner) => measure(owner, { work, client, contenders }, (seconds * 1000) / rounds)))
      )
  }
  return rates
}

interface Contest {
  readonly work: Work
  readonly client: ClientKind
  readonly contenders: readonly PeerServer[]
}

interface Contender {
  readonly server: PeerServer
  readonly running: Running
  readonly senders: readonly Send[]
}

async function measure(owner: Owner, { work, client, contenders: peers }: Contest, roundMs: number): Promise<Rate[]> {
  const contenders: Contender[] = []
  for (const server of peers) {
    const { root, paths } = makeFolder(owner, work)
    const running = await start[client](owner, server, root)
    const senders = paths.map((path) => senderOf(running, server.calls[work](path)))
    await warmUp(senders)
    contenders.push({ server, running, senders })
  }
  const rates: Rate[] = []
  for (const inFlight of inFlightCounts) {
    const samples = contenders.map(() => ({ perSecond: [] as number[], latenciesMs: [] as number[], processorMs: 0 }))
    for (let round = 0; round < rounds; round += 1)
      for (const [index, { running, senders }] of contenders.entries()) {
        const before = processorMs(running.pid)
        const load = await runLoad(senders.slice(0, inFlight), roundMs)
        const sample = samples[index]
        if (sample === undefined) continue
        sample.processorMs += processorMs(running.pid) - before
        sample.perSecond.push(load.perSecond)
        sample.latenciesMs.push(...load.latenciesMs)
      }
    rates.push(
      ...contenders.map(({ server }, index): Rate => {
        const { perSecond = [], latenciesMs = [], processorMs = NaN } = samples[index] ?? {}
        return {
          server: server.name,
          work,
          client,
          inFlight,
          perSecond,
          p50Ms: percentile(latenciesMs, 50),
          p99Ms: percentile(latenciesMs, 99),
          processorUs: (processorMs * 1000) / latenciesMs.length
        }
      })
    )
  }
  return rates
}

/** As many files as calls are in flight, each with a line that counts its edits; for a listing a thousand. */
export function makeFolder(owner: Owner, work: Work): { root: string; paths: string[] } {
  const root = join(makeTree(owner).root, 'files')
  mkdirSync(root)
  const first = `// ${counter(0)}\n`
  const text = first + sourceText((work === 'list' ? 1024 : fileBytes) - first.length)
  const count = work === 'list' ? listedFiles : Math.max(...inFlightCounts)
  const paths = Array.from({ length: count }, (_, index) => join(root, `file-${index}.ts`))
  for (const path of paths) writeFileSync(path, text)
  return { root, paths: paths.slice(0, Math.max(...inFlightCounts)) }
}
