// async_blame: who made each line of a file.
import { AgentId, commandFacts, ForgottenBefore, Hash, HashOf, Path, StatusOk, Timestamp } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

const line = (description: string) => Type.Integer({ minimum: 1, description })

export const BlameInput = inputObject({
  path: Path,
  start_line: Type.Integer({ minimum: 1, default: 1, description: 'First line, 1-based.' }),
  end_line: Type.Optional(line('Last line, inclusive. Default: the last one.')),
  agent_id: AgentId
})
export type BlameInput = Static<typeof BlameInput>

export const BlameRange = Type.Object(
  {
    start_line: line('First line.'),
    end_line: line('Last line, inclusive.'),
    agent_id: Type.Union([Type.String(), Type.Null()], {
      description:
        'Who made the lines; "external" from outside the server; null if they were there before, or that is not known.'
    }),
    operation: Type.Optional(Type.String({ description: 'The operation that made them.' })),
    change_set: Type.Optional(Type.String({ description: 'The task or the transaction to which the change belongs.' })),
    ...commandFacts,
    hash: Type.Optional(HashOf('The version that brought them.')),
    at: Type.Optional(Timestamp),
    commit: Type.Optional(Type.String({ description: "Git's commit of lines that HEAD has." })),
    author: Type.Optional(Type.String({ description: 'The author of that commit.' })),
    is_known: Type.Optional(
      Type.Literal(false, {
        description: 'Several changes lie between the versions that are kept: one of them made it.'
      })
    )
  },
  { title: 'BlameRange', description: 'Neighbouring lines of one change.' }
)
export type BlameRange = Static<typeof BlameRange>

export const BlameOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    hash: Hash,
    total_lines: Type.Integer({ minimum: 0, description: 'Lines of the whole file.' }),
    next_start_line: Type.Optional(line('Over MCP, if ranges are left: the start_line to go on with.')),
    ranges: Type.Array(BlameRange, { description: 'In order, all lines asked for.' }),
    forgotten_before: ForgottenBefore,
    timestamp: Timestamp
  },
  { title: 'BlameOutput', description: 'Who made each line, as far as known.' }
)
