// A process of its own that does the bare file work of the file-editing operations, and says how long each piece took.
import { bareCount, bareEdit, bareList, bareRead } from './bare-work.ts'
import { runLoad, type Send } from '../load/load.ts'
import { elapsedMs } from '../load/trials.ts'

export type EditingTask =
  /** Every path has a worker of its own. */
  | { readonly work: 'read' | 'edit'; readonly paths: readonly string[]; readonly ms: number }
  /** Once. */
  | { readonly work: 'list'; readonly folder: string }
  | { readonly work: 'count'; readonly folder: string }

process.on('message', (task: EditingTask) => void run(task).then((latenciesMs) => process.send?.(latenciesMs)))

async function run(task: EditingTask): Promise<number[]> {
  if (task.work === 'list') return [await elapsedMs(() => bareList(task.folder))]
  if (task.work === 'count') return [await elapsedMs(() => bareCount(task.folder))]
  const { work, paths, ms } = task
  const senders = paths.map((path): Send => (work === 'read' ? () => bareRead(path) : () => bareEdit(path)))
  return (await runLoad(senders, ms)).latenciesMs
}
