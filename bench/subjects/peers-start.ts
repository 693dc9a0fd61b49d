// The start of each server, in turn: until its first answer, the calls after it, and the memory it takes between calls.
import { setTimeout as delay } from 'node:timers/promises'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import { withOwner } from '../owner.ts'
import { senderOf, start } from '../peers/connect.ts'
import type { PeerServer } from '../peers/servers.ts'
import { proportionalMb, residentMb } from '../process-use.ts'
import { median } from '../statistics.ts'
import { makeFolder } from './peers-rates.ts'

export interface Start {
  readonly server: string
  /** From the start of the process until the first call of a tool is answered. */
  readonly firstAnswerMs: readonly number[]
  /** Of the calls right after it. */
  readonly firstPerSecond: number
  readonly settledPerSecond: number
  /** A while after them. */
  readonly residentMb: number
  readonly proportionalMb: number
}

const rounds = 9
/** In so many of them the server is also warmed up. */
const settledRounds = 3
const firstCalls = 200
const idleMs = 5000

interface Sample {
  firstAnswerMs: number
  firstPerSecond: number
  settledPerSecond?: number
}

/** @param seconds of each settled rate, over all rounds */
export async function measureStarts(servers: readonly PeerServer[], seconds: number): Promise<Start[]> {
  const contenders = servers.filter(({ works }) => works.includes('read'))
  const samples = contenders.map((): Sample[] => [])
  for (let round = 0; round < rounds; round += 1)
    for (const [index, server] of contenders.entries())
      samples[index]?.push(await startOnce(server, round < settledRounds ? (seconds * 1000) / settledRounds : 0))
  const memory = await measureMemory(contenders)
  return contenders.map(({ name }, index) => {
    const own = samples[index] ?? []
    return {
      server: name,
      firstAnswerMs: own.map((sample) => sample.firstAnswerMs),
      firstPerSecond: median(own.map((sample) => sample.firstPerSecond)),
      settledPerSecond: median(own.flatMap((sample) => sample.settledPerSecond ?? [])),
      residentMb: memory[index]?.resident ?? NaN,
      proportionalMb: memory[index]?.proportional ?? NaN
    }
  })
}

function startOnce(server: PeerServer, settledMs: number): Promise<Sample> {
  return withOwner(async (owner) => {
    const { root, paths } = makeFolder(owner, 'read')
    const begun = performance.now()
    const running = await start['raw messages'](owner, server, root)
    const senders = paths.map((path) => senderOf(running, server.calls.read(path)))
    await senders[0]?.()
    const firstAnswerMs = performance.now() - begun
    const firstPerSecond = await rateOf(senders, firstCalls)
    if (settledMs === 0) return { firstAnswerMs, firstPerSecond }
    await warmUp(senders)
    return { firstAnswerMs, firstPerSecond, settledPerSecond: (await runLoad(senders, settledMs)).perSecond }
  })
}

/** Of exactly so many calls. */
async function rateOf(senders: readonly Send[], count: number): Promise<number> {
  const begun = performance.now()
  let left = count
  await Promise.all(
    senders.map(async (send) => {
      for (; left > 0;) {
        left -= 1
        await send()
      }
    })
  )
  return (count * 1000) / (performance.now() - begun)
}

/** All of them are there at once, and have answered a call on each file. */
function measureMemory(contenders: readonly PeerServer[]): Promise<{ resident: number; proportional: number }[]> {
  return withOwner(async (owner) => {
    const pids: (number | undefined)[] = []
    for (const server of contenders) {
      const { root, paths } = makeFolder(owner, 'read')
      const running = await start['raw messages'](owner, server, root)
      for (const path of paths) await senderOf(running, server.calls.read(path))()
      pids.push(running.pid)
    }
    await delay(idleMs)
    return pids.map((pid) => ({ resident: residentMb(pid), proportional: proportionalMb(pid) }))
  })
}
