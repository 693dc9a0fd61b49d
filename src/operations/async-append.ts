// async_append (PRD 3.11).
import { contract } from '../../schemas/contract.ts'
import type { Contention } from '../../schemas/contention.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { AppendInput, AppendOutput } from '../../schemas/append.ts'
import { splitMark, withoutTerminator } from '../engine/diff/lines.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { changeErrors, defineOperation } from './definition/define.ts'
import { assertMayCreate } from './change/file-version.ts'
import { timestamp } from '../support/timestamp.ts'
import { planContent } from './change/content-planner.ts'
import { outcomeOf } from './change/plan.ts'
import type { Planner } from './change/planner.ts'
import { changeOne } from './change/run.ts'
import { describeMerge, findTexts } from './change/stale-change.ts'
import { VersionTexts } from './change/version-texts.ts'

type Appended = Static<typeof AppendOutput>

export const asyncAppend = defineOperation({
  name: 'async_append',
  title: 'Append to a file',
  description:
    'Adds text to the end of a file without your reading it first. Appends of several agents follow one another and never conflict. If the end of the file matters to what you add, pass expected_hash: another version is then contention, or with on_contention "merge" the answer shows what others had changed.',
  ...contract.async_append,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  errors: [...changeErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'WRITE_ERROR'],
  handle: append
})

async function append(input: AppendInput, context: OperationContext): Promise<Appended | Contention> {
  const { path, timeout, diff_format } = input
  return changeOne<Appended>(context, planAppend(input, context), {
    operation: 'async_append',
    timeout,
    diffFormat: diff_format,
    answer({ plan }) {
      const { hash, replaced } = outcomeOf(plan, context)
      const [before, after] = [
        plan.current?.bytes.length ?? 0,
        plan.after?.kind === 'bytes' ? plan.after.bytes.length : 0
      ]
      return {
        status: 'ok',
        path,
        hash: hash!,
        bytes_appended: after - before,
        total_size_bytes: after,
        changed: plan.current === undefined || after > before,
        timestamp: timestamp(),
        ...replaced
      }
    }
  })
}

/** The text goes behind what other agents have made of the file. */
export function planAppend(
  input: Omit<AppendInput, 'agent_id' | 'request_id' | 'change_set' | 'timeout' | 'diff_format'>,
  context: OperationContext
): Planner {
  const { path, content, separator, expected_hash, create_if_missing, create_dirs } = input
  const texts = new VersionTexts(input.encoding ?? context.config.crud.default_encoding, path)
  const change = async (version: Buffer) => appended(version, { content, separator }, texts)
  return planContent(
    {
      operation: 'async_append',
      path,
      fencingToken: input.fencing_token,
      texts,
      expectedHash: () => expected_hash ?? undefined,
      create() {
        assertMayCreate(path, expected_hash, create_if_missing, 'async_list')
        return { bytes: texts.encode(content), createDirs: create_dirs }
      },
      change,
      onContention: input.on_contention,
      async merge(stale) {
        const known = await findTexts(context, stale, texts)
        if (known === undefined || leavesLineOpen(known.base, splitMark(known.current).body))
          return { notMerged: undefined }
        return { merged: describeMerge(context, stale, known), bytes: await change(stale.current.bytes) }
      }
    },
    context
  )
}

/** The version with the text behind it. */
function appended(
  version: Buffer,
  { content, separator }: Pick<AppendInput, 'content' | 'separator'>,
  texts: VersionTexts
): Buffer {
  const { body } = splitMark(texts.decode(version))
  return Buffer.concat([version, texts.encode(body === '' ? content : separator + content, version)])
}

/** If another writer has left the last line without its end, the text would become part of that line. */
function leavesLineOpen(base: string, current: string): boolean {
  return withoutTerminator(base) !== base && current !== '' && withoutTerminator(current) === current
}
