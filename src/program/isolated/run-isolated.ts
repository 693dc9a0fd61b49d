// async-crud-mcp run --isolated: the command works on an overlay over the live tree. All that it has written goes over at its end, or nothing.
import { readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { LayerApplyOutput, LayerBeginOutput } from '../../../schemas/layers.ts'
import { attempt, orUndefined } from '../../support/attempt.ts'
import { callLayers, shownCommand } from './call-layers.ts'
import { FolderReplaced, findHidden } from './hidden-folders.ts'
import { openNamespace } from './namespace.ts'
import { runProcess } from '../run/run-process.ts'
import { tell, tellApplied } from './tell.ts'

export interface IsolatedRun {
  readonly command: readonly string[]
  readonly agent: string | undefined
  readonly changeSet: string | undefined
  /** Keeps the layer if it does not go over. */
  readonly isKept: boolean
}

/** A conflict: the same command may succeed later (EX_TEMPFAIL). */
export const conflictCode = 75
/** For the processes that a command has left. */
const graceMs = 2000
const lookMs = 20

/** @returns the exit code @throws Error if the command was not run, or what it has written was not taken over */
export async function runIsolated(root: string, { command, agent, changeSet, isKept }: IsolatedRun): Promise<number> {
  if (process.platform !== 'linux') throw new Error('--isolated needs Linux: run the command without it')
  const call = callLayers(root)
  const begun = await call<LayerBeginOutput>('layer_begin', {
    command: shownCommand(command),
    pid: process.pid,
    ...(agent !== undefined && { agent_id: agent }),
    ...(changeSet !== undefined && { change_set: changeSet })
  })
  const { layer } = begun
  let isLeft = false
  try {
    const exitCode = await runInside(begun, command, (ended) =>
      call('layer_end', { layer, exit_code: ended.exitCode, hidden_folders: ended.hidden })
    )
    isLeft = isKept
    if (exitCode !== 0) {
      tell(`the command ended with ${exitCode}: nothing was changed${isKept ? `; ${keptAs(layer)}` : ''}`)
      return exitCode
    }
    const applied = await apply(call, layer)
    if (applied !== 0 && isKept) tell(keptAs(layer))
    return applied
  } catch (error) {
    if (!(error instanceof FolderReplaced)) throw error
    tell(error.message)
    return conflictCode
  } finally {
    if (!isLeft) await call('layer_drop', { layer }).catch(() => {})
  }
}

/** @returns the exit code */
export async function apply(call: ReturnType<typeof callLayers>, layer: string): Promise<number> {
  const answer = await call<LayerApplyOutput>('layer_apply', { layer })
  tellApplied(answer)
  return answer.status === 'ok' ? 0 : conflictCode
}

const keptAs = (layer: string) =>
  `what it wrote is kept for seven days as ${layer}: async-crud-mcp run --apply ${layer}, or --drop ${layer}`

/** @param onEnd called while the namespace is still there, and nothing runs in it any more */
async function runInside(
  begun: Pick<LayerBeginOutput, 'folder' | 'roots'>,
  command: readonly string[],
  onEnd: (ended: { exitCode: number; hidden: readonly string[] }) => Promise<unknown>
): Promise<number> {
  const namespace = await openNamespace(begun)
  try {
    const exitCode = await runProcess(namespace.argv(command, process.cwd()))
    await endOthers(namespace.pid)
    await onEnd({ exitCode, hidden: findHidden(begun, `/proc/${namespace.pid}/root`) })
    return exitCode
  } finally {
    await namespace.close()
  }
}

/**
 * Ends the processes that the command has left in its namespace: their later writes would be lost.
 * @param holder the process that holds the namespace
 */
async function endOthers(holder: number): Promise<void> {
  const others = () => processesIn(holder)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const until = performance.now() + graceMs
    for (const pid of others()) attempt(() => process.kill(pid, signal))
    while (others().length > 0 && performance.now() < until) await delay(lookMs)
  }
}

function processesIn(holder: number): number[] {
  const mounts = (pid: number) => orUndefined(() => readlinkSync(`/proc/${pid}/ns/mnt`))
  const own = mounts(holder)
  // Never those of the whole system.
  if (own === undefined || own === mounts(process.pid)) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== holder && mounts(pid) === own)
}
