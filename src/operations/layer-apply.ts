// layer_apply: takes all that an isolated command has written over into the tree, as one change, merged with what others did meanwhile.
import { contract } from '../../schemas/contract.ts'
import type { LayerApplyInput, LayerApplyOutput } from '../../schemas/layers.ts'
import type { OperationContext } from '../engine/call/context.ts'
import type { LayerContents, LayerEntry } from '../engine/layers/layer-contents.ts'
import type { Layer } from '../engine/layers/layers.ts'
import { byCommand } from '../engine/versions/author.ts'
import { OperationError } from '../errors.ts'
import { timestamp } from '../support/timestamp.ts'
import type { Planned } from './change/planner.ts'
import { publishLate } from './change/contention.ts'
import { changeMany, type ManyMade } from './change/run-many.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { carryOver } from './layer/carry-over.ts'
import { contentsOf, requireLayer } from './layer/open-layer.ts'
import { planEntry } from './layer/plan-entry.ts'
import { changeSetOf } from './transaction/change-set.ts'

export const layerApply = defineOperation({
  name: 'layer_apply',
  title: 'Take over what an isolated command has written',
  description:
    'For operators, over REST only: what `async-crud-mcp run --isolated` and `run --apply` call. All files go over as one change, merged with what others did meanwhile, or nothing does and the answer has status "contention". Ignored files follow, without versions.',
  ...contract.layer_apply,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'FILE_EXISTS', 'VERSION_NOT_KEPT', 'ENCODING_ERROR', 'WRITE_ERROR'],
  isForOperators: true,
  handle: apply
})

async function apply(input: LayerApplyInput, context: OperationContext): Promise<LayerApplyOutput> {
  const layer = requireLayer(input.layer, context)
  const { end } = layer
  if (end === undefined)
    throw new OperationError('INVALID_REQUEST', `The command of layer ${layer.id} still runs. Wait for its end.`)
  const own = changeSetOf(context.withAgent(layer.agentId ?? context.caller.agentId, layer.changeSet), 'command')
  const hidden = new Set(end.hidden)
  const contents = await contentsOf(layer, hidden, own)
  const entries = inOrder(contents.entries.filter(({ path, what }) => what !== 'none' || path in end.found))
  const made = await changeAll(entries, layer, input.timeout, own)
  if (!('planned' in made)) return refusal(entries, made)
  for (const { merged } of made.planned) if (merged !== undefined) publishLate(own, merged.stale, { merged: true })
  const problems = await carryOver(own, contents, hidden)
  await own.layers.drop(layer.id)
  return answer(entries, made.planned, { own, contents, problems })
}

/** What leaves before what comes, so that a file that was moved is known. */
function inOrder(entries: readonly LayerEntry[]): LayerEntry[] {
  const leaving = entries.filter(({ what }) => what === 'none')
  return [...leaving, ...entries.filter(({ what }) => what !== 'none')]
}

async function changeAll(
  entries: readonly LayerEntry[],
  layer: Layer,
  timeout: number | undefined,
  own: OperationContext
): Promise<ManyMade> {
  const { max_layer_files: maxFiles, max_layer_bytes: maxBytes } = own.config.crud
  if (entries.length > maxFiles) {
    const message = `The command has changed ${entries.length} files, more than the ${maxFiles} allowed (crud.max_layer_files). Nothing was changed: raise the setting, or let Git ignore what need not be kept.`
    throw new OperationError('INVALID_REQUEST', message)
  }
  if (entries.length === 0) return { planned: [] }
  return changeMany(
    own,
    entries.map((entry) => planEntry(entry, layer, own)),
    {
      operation: byCommand,
      command: layer.command,
      timeout,
      diffFormat: 'unified',
      isDryRun: false,
      limits: { kind: 'layer', maxFiles, maxBytes },
      answer: () => ({})
    }
  )
}

interface Done {
  readonly own: OperationContext
  readonly contents: LayerContents
  readonly problems: readonly string[]
}

function answer(
  entries: readonly LayerEntry[],
  planned: readonly Planned[],
  { own, contents, problems }: Done
): LayerApplyOutput {
  const left = contents.left.map((path) => `${path}: a pipe, a socket or a device, or its name is no text`)
  return {
    status: 'ok',
    change_set: own.caller.changeSet as string,
    files: planned.flatMap((one, index) => {
      const what = whatOf(one)
      if (what === undefined) return []
      const { after } = one.plan
      const hash = after?.kind === 'bytes' ? after.hash : null
      return [{ path: entries[index]!.path, what, hash, ...(one.merged !== undefined && { merged: true as const }) }]
    }),
    ignored: contents.ignored.length,
    ...(problems.length + left.length > 0 && { problems: [...problems, ...left] }),
    timestamp: timestamp()
  }
}

function whatOf({ plan: { place, current, after } }: Planned) {
  if (after === undefined) return undefined
  if (after.kind === 'none') return 'deleted'
  if (place.stat === undefined) return 'created'
  return after.kind === 'bytes' && after.hash === current?.hash ? 'mode' : 'changed'
}

/** Others are in the way of a path; the same command may do later. */
const conflictCodes: ReadonlySet<string> = new Set(['FILE_NOT_FOUND', 'FILE_EXISTS', 'VERSION_NOT_KEPT', 'NOT_A_FILE'])

/** @throws OperationError for what would be in the way of any such command */
function refusal(
  entries: readonly LayerEntry[],
  { contentions, failures }: Exclude<ManyMade, { planned: unknown }>
): LayerApplyOutput {
  const all = [...failures].map(([index, { code, message }]) => ({ path: entries[index]!.path, code, message }))
  const lasting = [...failures.values()].find(({ code }) => !conflictCodes.has(code))
  if (lasting !== undefined) {
    const { code, message, path, cause } = lasting
    throw new OperationError(code, `${message} Nothing was changed.`, { path, details: { failures: all }, cause })
  }
  const count = contentions.size + failures.size
  const message = `Nothing was changed: others have changed ${count === 1 ? 'one of the files' : `${count} of the files`} in another way while the command ran. Run it again.`
  return {
    status: 'contention',
    message,
    contentions: [...contentions.values()],
    failures: all,
    timestamp: timestamp()
  }
}
