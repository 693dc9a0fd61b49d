// async_batch_read, async_batch_write, async_batch_update: several files in one call, each on its own (PRD 3.6, 3.7, 3.10).
import { AgentId, changeCall, DiffFormat, Snapshot, StatusOk, Timeout } from './common.ts'
import { Contention, OnContention } from './contention.ts'
import { ErrorEnvelope } from './errors.ts'
import { withNotices } from './notices.ts'
import { ReadOutput, readItem } from './read.ts'
import { inputObject, Type, type Static, type TProperties, type TSchema } from './typebox.ts'
import { UpdateOutput, updateItem } from './update.ts'
import { WriteOutput, writeItem } from './write.ts'

const files = <Item extends TProperties>(item: Item, title: string) =>
  Type.Array(inputObject(item, { title, description: 'One file.' }), {
    minItems: 1,
    maxItems: 10000,
    description: 'The files, handled one after the other. At most crud.max_batch_files (1000).'
  })

export const BatchReadInput = inputObject({
  files: files(readItem, 'BatchReadItem'),
  consistent: Type.Boolean({
    default: false,
    description: 'All files as of one moment, locked together. The answer names the moment (snapshot).'
  }),
  diff_format: DiffFormat,
  agent_id: AgentId
})
export type BatchReadInput = Static<typeof BatchReadInput>

const Atomic = Type.Boolean({
  default: false,
  description:
    'True makes all changes or none, as async_transaction does: if one is refused, the others have the error NOT_MADE.'
})

export const BatchWriteInput = inputObject({
  files: files(writeItem, 'BatchWriteItem'),
  atomic: Atomic,
  timeout: Timeout,
  ...changeCall
})
export type BatchWriteInput = Static<typeof BatchWriteInput>

const batchUpdateItem = {
  ...updateItem,
  on_contention: Type.Optional(
    Type.String({ enum: ['report', 'merge'], description: 'For this file, instead of the value of the call.' })
  )
}

export const BatchUpdateInput = inputObject({
  files: files(batchUpdateItem, 'BatchUpdateItem'),
  atomic: Atomic,
  on_contention: OnContention,
  timeout: Timeout,
  diff_format: DiffFormat,
  ...changeCall
})
export type BatchUpdateInput = Static<typeof BatchUpdateInput>

const count = (description: string) => Type.Integer({ minimum: 0, description })

const batchOutput = <Outcomes extends TSchema[], Counts extends TProperties, Further extends TProperties>(
  outcomes: [...Outcomes],
  title: string,
  counts: Counts,
  further: Further
) =>
  Type.Object(
    {
      status: StatusOk,
      ...further,
      results: Type.Array(Type.Union(outcomes), {
        description: 'One result for each file, in the order of the request.'
      }),
      summary: Type.Object(
        {
          total: count('Files in the request.'),
          succeeded: count('Files done.'),
          ...counts,
          failed: count('Files with an error.')
        },
        { title: `${title}Summary`, description: 'How many of each.' }
      )
    },
    { title, description: 'Look at each result. Not all-or-nothing, unless atomic.' }
  )

/** Each file has a receipt of its own: one that was not changed is tried again. */
const batchReplayed = {
  replayed: Type.Optional(
    Type.Literal(true, {
      description: 'Some results are those of an earlier call with this request_id; each of them says so.'
    })
  )
}

export const BatchReadOutput = batchOutput(
  [withNotices(ReadOutput), ErrorEnvelope],
  'BatchReadOutput',
  {},
  {
    snapshot: Type.Optional(Snapshot),
    message: Type.Optional(
      Type.String({ description: 'Over MCP, if the answer had no room for all files: how to get the others.' })
    ),
    next_index: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Over MCP, if files are left: the index of the first one that was not read.'
      })
    )
  }
)
export const BatchWriteOutput = batchOutput(
  [withNotices(WriteOutput), ErrorEnvelope],
  'BatchWriteOutput',
  {},
  batchReplayed
)
export const BatchUpdateOutput = batchOutput(
  [withNotices(UpdateOutput), Contention, ErrorEnvelope],
  'BatchUpdateOutput',
  {
    contention: count('Files that had changed; nothing was written to them.')
  },
  batchReplayed
)
