// FES 4.1 under load: files of 1 MB, ten read at once, five edited at once.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { EditingCall, OpenDoor } from './editing-doors.ts'
import type { EditingFloor } from '../floors/floors.ts'
import { runLoad, warmUp } from '../load/load.ts'
import { withOwner } from '../owner.ts'
import { sourceText } from '../sources.ts'
import type { Row } from '../table.ts'
import { repeat, trialRow } from '../load/trials.ts'

interface LoadTarget {
  readonly what: string
  readonly targetMs: number
  readonly work: 'read' | 'edit'
  /** Files, each read or edited by a caller of its own. */
  readonly callers: number
  readonly send: (call: EditingCall, name: string, count: number) => Promise<unknown>
}

const targets: readonly LoadTarget[] = [
  {
    what: 'read_file 1 MB, 10 at once',
    targetMs: 50,
    work: 'read',
    callers: 10,
    send: (call, name) => call('read_file', { name })
  },
  {
    what: 'edit_file 1 MB, 5 at once',
    targetMs: 100,
    work: 'edit',
    callers: 5,
    send: (call, name, count) =>
      call('edit_file', { name, edits: [{ line: 10_000, operation: 'replace', content: `  const edit = ${count}` }] })
  }
]

const megabyte = 1_048_576
const rounds = 9
const roundMs = 300

export async function loadRows(openDoor: OpenDoor, floor: EditingFloor): Promise<Row[]> {
  const rows: Row[] = []
  for (const target of targets) rows.push(await loadRow(target, openDoor, floor))
  return rows
}

function loadRow({ what, targetMs, work, callers, send }: LoadTarget, openDoor: OpenDoor, floor: EditingFloor) {
  return withOwner(async (owner) => {
    const { root } = makeTree(owner)
    const names = Array.from({ length: callers }, (_, index) => `file-${index}.ts`)
    const text = sourceText(megabyte)
    const [ours, bare] = [makeFiles(join(root, 'ours'), names, text), makeFiles(join(root, 'bare'), names, text)]
    const door = await openDoor(owner, ours)
    let count = 0
    const senders = await Promise.all(
      names.map(async (name) => {
        const call = await door.connect()
        return () => send(call, name, (count += 1))
      })
    )
    await warmUp(senders)
    const paths = names.map((name) => join(bare, name))
    const measured = await repeat(rounds, async () => ({
      floor: await floor({ work, paths, ms: roundMs }),
      ours: (await runLoad(senders, roundMs)).latenciesMs
    }))
    return trialRow({ what, transport: door.transport, targetMs, rounds: measured })
  })
}

/** @returns the folder */
function makeFiles(folder: string, names: readonly string[], text: string): string {
  mkdirSync(folder)
  for (const name of names) writeFileSync(join(folder, name), text)
  return folder
}
