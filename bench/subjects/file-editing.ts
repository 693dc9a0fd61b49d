// FES 4.1: list_files, read_file and edit_file against the specification's response times and against the bare work, measured in turn.
import { doors } from './editing-doors.ts'
import { listRows, listRowsInProcess } from './editing-list.ts'
import { loadRows } from './editing-load.ts'
import { startEditingFloor } from '../floors/floors.ts'
import { memoryHead, memoryRows, sizeHead, sizeRows } from './footprint.ts'
import { withOwner } from '../owner.ts'
import { lifeRows } from './program-life.ts'
import { printTable, type Row } from '../table.ts'
import { trialHead } from '../load/trials.ts'

export async function fileEditing(): Promise<void> {
  console.log('\n## file-editing: the targets of FES 4.1, each beside the bare work')
  const rows: Row[] = [...(await listRowsInProcess())]
  await withOwner(async (owner) => {
    const floor = startEditingFloor(owner)
    for (const openDoor of doors) {
      rows.push(...(await listRows(openDoor, floor)))
      rows.push(...(await loadRows(openDoor, floor)))
    }
  })
  rows.push(...(await lifeRows()))
  printTable('response times', trialHead, rows)
  printTable('memory', memoryHead, await memoryRows())
  printTable('disk', sizeHead, sizeRows())
}
