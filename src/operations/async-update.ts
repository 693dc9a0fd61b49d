// async_update (PRD 3.3): applies the change only to the version that it was made for.
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { UpdateInput, UpdateOutput } from '../../schemas/update.ts'
import { isLinePatch } from '../engine/diff/line-patches.ts'
import { describeFailure } from '../engine/diff/patch-failure.ts'
import { describeUnifiedFailure } from '../engine/diff/unified-patch.ts'
import { OperationError } from '../errors.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'
import { planContent } from './change/content-planner.ts'
import { clash, outcomeOf, type PathPlan } from './change/plan.ts'
import type { Planner } from './change/planner.ts'
import { changeOne } from './change/run.ts'
import { VersionTexts } from './change/version-texts.ts'

export const asyncUpdate = defineOperation({
  name: 'async_update',
  title: 'Update a file',
  description:
    'Changes an existing text file by patches (find old_string, put new_string, or replace lines start_line to end_line), by a unified diff (all or none), or by whole content. expected_hash is the hash of the version you made the change for. If the file has changed meanwhile, nothing is written and the answer has status "contention" with the exact diff from your version to the current one: adjust your change by it and send it again with expected_hash set to current_hash. There is no need to read the file again. With on_contention "merge" a change that touches no line that others have changed is made at once, and the answer shows what they had changed.',
  ...contract.async_update,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  errors: [
    ...changeErrors,
    'FILE_NOT_FOUND',
    'ENCODING_ERROR',
    'INVALID_PATCH',
    'CONTENT_OR_PATCHES_REQUIRED',
    'WRITE_ERROR'
  ],
  handle: updateOne
})

export type Updated = Static<typeof UpdateOutput>

type Input = Omit<UpdateInput, 'agent_id'>

export async function updateOne(input: Input, context: OperationContext): Promise<Updated | Contention> {
  requireOneForm(input)
  const { path, timeout, diff_format } = input
  return changeOne<Updated>(context, planUpdate(input, context), {
    operation: 'async_update',
    timeout,
    diffFormat: diff_format,
    answer({ plan }) {
      const { replaced, ...outcome } = outcomeOf(plan, context)
      return {
        status: 'ok',
        path,
        previous_hash: plan.current!.hash,
        ...outcome,
        hash: outcome.hash!,
        timestamp: timestamp(),
        ...replaced
      }
    }
  })
}

export function planUpdate(
  input: Change & Pick<Input, 'encoding' | 'expected_hash' | 'on_contention' | 'fencing_token'>,
  context: OperationContext
): Planner {
  const { path, expected_hash, on_contention, fencing_token } = input
  const texts = new VersionTexts(input.encoding ?? context.config.crud.default_encoding, path)
  const planner = planContent(
    {
      operation: 'async_update',
      path,
      fencingToken: fencing_token,
      texts,
      attempt: { patches: input.patches, unifiedDiff: input.unified_diff },
      expectedHash: () => expected_hash,
      onContention: on_contention,
      change: (version) => newText(input, version, texts, context),
      beside: (entered, bytes) => mergeBeside(entered, bytes, texts, context),
      isSent: input.content !== undefined
    },
    context
  )
  return {
    ...planner,
    async plan(...given) {
      requireOneForm(input)
      return planner.plan(...given)
    }
  }
}

/** The change together with an earlier one of the same call: both are for the file as it is. */
async function mergeBeside(
  { after, current, path, indices }: PathPlan,
  bytes: Buffer,
  texts: VersionTexts,
  { differ, signal }: OperationContext
): Promise<Buffer> {
  const earlierBytes = after?.kind === 'bytes' ? after.bytes : bytes
  const [base, earlier, incoming] = [current!.bytes, earlierBytes, bytes].map((version) => texts.decode(version))
  const result = await differ.merge({ base: base!, current: earlier!, incoming: incoming!, signal })
  if ('text' in result) return texts.encode(result.text, current!.bytes)
  const isJson = result.conflicts[0]?.reason === 'invalid_json'
  const why = isJson
    ? 'together they are no JSON, or name a property twice.'
    : 'they change the same lines, or lines side by side.'
  throw clash(path, [indices.at(-2)!, indices.at(-1)!], why)
}

/** The forms that a change can have. */
const forms = ['content', 'patches', 'unified_diff'] as const
type Change = Pick<UpdateInput, 'path' | (typeof forms)[number]>

function requireOneForm(input: Change): void {
  const { path, patches } = input
  const given = forms.filter((form) => input[form] !== undefined)
  if (given.length > 1) {
    const message = `Pass one of content, patches and unified_diff, not ${given.join(' and ')}.`
    throw new OperationError('INVALID_REQUEST', message, { path })
  }
  if (given.length === 0) {
    throw new OperationError(
      'CONTENT_OR_PATCHES_REQUIRED',
      'Pass content (the whole new text), patches (a list of edits) or unified_diff (what diff -u prints).',
      { path }
    )
  }
  if (patches?.some(isLinePatch) === true && !patches.every(isLinePatch)) {
    const message =
      'patches has both patches by text (old_string) and patches by lines (start_line), which are applied differently. Send one kind, or two calls.'
    throw new OperationError('INVALID_REQUEST', message, { path })
  }
}

async function newText(
  { path, content, patches = [], unified_diff: unifiedDiff }: Change,
  version: Buffer,
  texts: VersionTexts,
  { differ, signal }: OperationContext
): Promise<string> {
  if (content !== undefined) return texts.keepMark(content, version)
  const text = texts.decode(version)
  if (unifiedDiff !== undefined) {
    const applied = await differ.applyUnified({ text, unifiedDiff, signal })
    if ('text' in applied) return applied.text
    throw notApplied(path, applied.failure, describeUnifiedFailure(applied.failure))
  }
  const applied = await differ.apply({ text, patches, signal })
  if ('text' in applied) return applied.text
  throw notApplied(path, applied.failure, describeFailure(applied.failure))
}

function notApplied(path: string, failure: { readonly reason: string }, words: string): OperationError {
  const code = failure.reason === 'too_large' ? 'FILE_TOO_LARGE' : 'INVALID_PATCH'
  return new OperationError(code, `${path}: ${words}`, { path, details: { ...failure } })
}
