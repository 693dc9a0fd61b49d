// The layers of isolated commands: what such a command writes, apart from the tree until all of it is taken over.
import { AgentId, ChangeSet, HashOrNull, Path, pathText, StatusOk, Timeout, Timestamp } from './common.ts'
import { Contention } from './contention.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** What is longer is cut before it is sent; the server keeps less. */
export const maxCommandChars = 4000

const LayerId = Type.String({ pattern: '^[0-9a-f]{8}$', description: 'The layer, as layer_begin named it.' })
const Agent = Type.Optional(Type.String({ description: 'The agent whose command it is.' }))

export const LayerBeginInput = inputObject({
  command: Type.String({ maxLength: maxCommandChars, description: 'The text of the command.' }),
  pid: Type.Integer({
    minimum: 1,
    description: 'The process that runs the command: once it has gone, so may the layer.'
  }),
  agent_id: AgentId,
  change_set: ChangeSet
})
export type LayerBeginInput = Static<typeof LayerBeginInput>

export const LayerBeginOutput = Type.Object(
  {
    status: StatusOk,
    layer: LayerId,
    folder: Type.String({
      description:
        'Holds a folder for each root, 0 for the first: in it `upper` takes what the command writes, `work` is for the overlay, `lower` is where to mount the root.'
    }),
    roots: Type.Array(Type.String(), { description: 'Real paths of the roots.' }),
    timestamp: Timestamp
  },
  { title: 'LayerBeginOutput', description: 'An empty layer over all roots.' }
)
export type LayerBeginOutput = Static<typeof LayerBeginOutput>

export const LayerEndInput = inputObject({
  layer: LayerId,
  exit_code: Type.Integer({ minimum: 0, maximum: 255, description: 'Of the command.' }),
  hidden_folders: Type.Array(Type.String(pathText), {
    maxItems: 100_000,
    default: [],
    description:
      'Absolute paths of folders that the command has removed and made again: nothing of their former content is there any more.'
  }),
  agent_id: AgentId
})
export type LayerEndInput = Static<typeof LayerEndInput>

export const LayerEndOutput = Type.Object(
  {
    status: StatusOk,
    files: Type.Integer({
      minimum: 0,
      description: 'Paths that the command has written or removed, ignored ones apart.'
    }),
    timestamp: Timestamp
  },
  { title: 'LayerEndOutput', description: 'The command has ended: the layer changes no more.' }
)
export type LayerEndOutput = Static<typeof LayerEndOutput>

export const LayerApplyInput = inputObject({ layer: LayerId, timeout: Timeout, agent_id: AgentId })
export type LayerApplyInput = Static<typeof LayerApplyInput>

const LayerFile = Type.Object(
  {
    path: Path,
    what: Type.String({
      enum: ['created', 'changed', 'deleted', 'mode'],
      description: 'What was made of it; mode: only its permission bits have changed.'
    }),
    hash: HashOrNull('The version now; null if the file is gone, or a link.'),
    merged: Type.Optional(Type.Literal(true, { description: 'Others had changed the file meanwhile.' }))
  },
  { title: 'LayerFile', description: 'One path of a layer.' }
)

const LayerFailure = Type.Object(
  {
    path: Path,
    code: Type.String({ description: 'From the error table.' }),
    message: Type.String({ description: 'What is in the way.' })
  },
  { title: 'LayerFailure', description: 'A path that cannot be taken over.' }
)

export const LayerApplyOutput = Type.Object(
  {
    status: Type.String({
      enum: ['ok', 'contention'],
      description: 'ok: all is in the tree, and on disk. contention: nothing was changed, and the layer is as it was.'
    }),
    message: Type.Optional(Type.String({ description: 'Of a contention: what to do next.' })),
    change_set: Type.Optional(
      Type.String({ description: 'To which the changes belong: for async_history, async_undo.' })
    ),
    files: Type.Optional(Type.Array(LayerFile, { description: 'What was changed, by path.' })),
    ignored: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Ignored files and folders that went over without versions.' })
    ),
    problems: Type.Optional(
      Type.Array(Type.String(), {
        description: 'What did not go over, though all files did: pipes and sockets, ignored files, modes of folders.'
      })
    ),
    contentions: Type.Optional(
      Type.Array(Contention, { description: 'Each file that others have changed in another way, with their changes.' })
    ),
    failures: Type.Optional(Type.Array(LayerFailure, { description: 'Each other path that is in the way.' })),
    timestamp: Timestamp
  },
  { title: 'LayerApplyOutput', description: 'All that the command has written is in the tree, or nothing of it.' }
)
export type LayerApplyOutput = Static<typeof LayerApplyOutput>

export const LayerListInput = inputObject({ agent_id: AgentId })
export type LayerListInput = Static<typeof LayerListInput>

const LayerFacts = Type.Object(
  {
    layer: LayerId,
    command: Type.String({ description: 'The text of the command, shortened, without secrets.' }),
    agent_id: Agent,
    began_at: Timestamp,
    ended_at: Type.Optional(Type.String({ ...Timestamp, description: 'Absent while the command runs.' })),
    exit_code: Type.Optional(Type.Integer({ description: 'Of the command.' }))
  },
  { title: 'LayerFacts', description: 'A layer that is kept, or whose command runs.' }
)

export const LayerListOutput = Type.Object(
  { status: StatusOk, layers: Type.Array(LayerFacts, { description: 'The oldest first.' }), timestamp: Timestamp },
  { title: 'LayerListOutput', description: 'The layers of the tree.' }
)
export type LayerListOutput = Static<typeof LayerListOutput>

export const LayerDropInput = inputObject({ layer: LayerId, agent_id: AgentId })
export type LayerDropInput = Static<typeof LayerDropInput>

export const LayerDropOutput = Type.Object(
  {
    status: StatusOk,
    dropped: Type.Boolean({ description: 'False if there was no such layer.' }),
    timestamp: Timestamp
  },
  { title: 'LayerDropOutput', description: 'The layer is gone, and the tree is as it was.' }
)
export type LayerDropOutput = Static<typeof LayerDropOutput>
