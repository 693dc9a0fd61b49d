// FES 4.1 for list_files: 1,000 files with their numbers of lines, counted at the first call and remembered for the second.
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { bareCount, bareList } from '../floors/bare-work.ts'
import type { OpenDoor } from './editing-doors.ts'
import { startEditingFloor, type EditingFloor } from '../floors/floors.ts'
import { withOwner, type Owner } from '../owner.ts'
import { sourceLines } from '../sources.ts'
import type { Row } from '../table.ts'
import { elapsedMs, repeat, trialRow, type Round } from '../load/trials.ts'

/** Who lists the folder, and what the bare work on it takes in ms. */
interface Lister {
  readonly transport: string
  readonly list: () => Promise<unknown>
  readonly bareList: () => Promise<number>
  readonly bareCount: () => Promise<number>
}

const files = 1000
const linesEach = 40
const targetMs = 20
const rounds = 25
const coldRounds = 5
/** What changed less than 50 ms ago may change again under the same times, so that nothing is remembered of it yet. */
const settleMs = 80

/** Through `app.call`, without any transport; the bare work runs in the same process. */
export function listRowsInProcess(): Promise<Row[]> {
  return withOwner(async (owner) => {
    const folder = makeFolder(owner)
    const config = loadConfig({ daemon: { log_level: 'info' }, crud: { base_directories: [folder] } })
    const app = await createApp({ config, version: 'bench', logStream: { write: () => {} } })
    owner.teardown(() => app.close())
    await app.ready()
    const { signal } = new AbortController()
    return contest(folder, {
      transport: 'none',
      list: () => app.call('list_files', {}, { caller: { transport: 'internal' }, signal }),
      bareList: () => elapsedMs(() => bareList(folder)),
      bareCount: () => elapsedMs(() => bareCount(folder))
    })
  })
}

/** Through the real program; the bare work has a process of its own too. */
export function listRows(openDoor: OpenDoor, floor: EditingFloor): Promise<Row[]> {
  return withOwner(async (owner) => {
    const folder = makeFolder(owner)
    const door = await openDoor(owner, folder)
    const call = await door.connect()
    const rows = await contest(folder, {
      transport: door.transport,
      list: () => call('list_files', {}),
      bareList: async () => (await floor({ work: 'list', folder }))[0] ?? NaN,
      bareCount: async () => (await floor({ work: 'count', folder }))[0] ?? NaN
    })
    return [...rows, await coldRow(folder, openDoor)]
  })
}

async function contest(folder: string, lister: Lister): Promise<Row[]> {
  const { transport, list } = lister
  const first: Round[] = []
  const second: Round[] = []
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    touchAll(folder)
    await delay(settleMs)
    const firstRound = { floor: [await lister.bareCount()], ours: [await elapsedMs(list)] }
    const secondRound = { floor: [await lister.bareList()], ours: [await elapsedMs(list)] }
    if (round < 0) continue
    first.push(firstRound)
    second.push(secondRound)
  }
  return [
    trialRow({ what: 'list_files, all 1,000 changed', transport, targetMs, rounds: first }),
    trialRow({ what: 'list_files, none changed', transport, targetMs, rounds: second })
  ]
}

const warmUpRounds = 15

/** The very first call of a process, before anything in it is compiled; against bare work as cold. */
async function coldRow(folder: string, openDoor: OpenDoor): Promise<Row> {
  let transport = ''
  const cold = await repeat(coldRounds, () =>
    withOwner(async (owner) => {
      const floor = startEditingFloor(owner)
      const door = await openDoor(owner, folder)
      transport = door.transport
      const call = await door.connect()
      return { floor: await floor({ work: 'count', folder }), ours: [await elapsedMs(() => call('list_files', {}))] }
    })
  )
  return trialRow({ what: 'list_files, first call of a process', transport, targetMs, rounds: cold })
}

function makeFolder(owner: Owner): string {
  const { root } = makeTree(owner)
  const lines = sourceLines(files * linesEach)
  for (let index = 0; index < files; index += 1)
    writeFileSync(join(root, `file-${index}.ts`), lines.slice(index * linesEach, (index + 1) * linesEach).join(''))
  return root
}

/** A new time makes every file another version of itself. */
function touchAll(folder: string): void {
  const now = new Date()
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), now, now)
}
