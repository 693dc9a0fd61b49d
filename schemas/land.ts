// land: makes a commit of one agent's changes out of a tree that several share.
import { Diff } from './diff.ts'
import { AgentId, changeCall, DryRun, IsDryRun, Replayed, Timestamp, withoutNul } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

const AgentName = (description: string) => Type.String({ minLength: 1, maxLength: 200, description })

export const LandSelection = {
  agent: AgentName('The agent whose changes are landed, by its agent_id; external means people beside the server.'),
  of_change_set: Type.Optional(AgentName('Only this task of the agent, and what it rests on of its own.')),
  paths: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      minItems: 1,
      maxItems: 100,
      description: 'Only files that one of these globs fits, relative to their root.'
    })
  ),
  with: Type.Optional(
    Type.Array(AgentName('An agent.'), {
      minItems: 1,
      maxItems: 100,
      description: 'Agents whose changes are taken along, such as those that the changes rest on.'
    })
  ),
  include_uncertain: Type.Boolean({
    default: false,
    description: 'Take changes, too, of which another may be the author.'
  }),
  include_overwritten: Type.Boolean({
    default: false,
    description:
      'Take lines and new files, too, that other agents have replaced or removed since, as if they had not: so each change of a chain can land by itself. What people have taken out stays out.'
  })
}

/** Git takes no NUL. */
const messageText = { minLength: 1, maxLength: 20_000, pattern: withoutNul }

export const LandInput = inputObject({
  ...LandSelection,
  message: Type.Optional(
    Type.String({
      ...messageText,
      description:
        'Of the commit. Default: notes of leases on its files, names of its tasks, or the agent and the files.'
    })
  ),
  dry_run: DryRun,
  ...changeCall
})
export type LandInput = Static<typeof LandInput>

export const LandDependence = Type.Object(
  {
    path: Type.String({ description: 'Relative to the working tree of the repository.' }),
    start_line: Type.Optional(
      Type.Integer({ description: 'The lines, 1-based, in the file as it is; none means all of it.' })
    ),
    end_line: Type.Optional(Type.Integer()),
    agent_id: Type.String({
      description: 'Whose uncommitted change they rest on. external: made beside the server. unknown: nobody can tell.'
    })
  },
  { title: 'LandDependence', description: 'What cannot land, since it rests on uncommitted changes of another.' }
)
export type LandDependence = Static<typeof LandDependence>

export const LandForgotten = Type.Object(
  {
    path: Type.String({ description: 'Relative to the working tree.' }),
    start_line: Type.Optional(
      Type.Integer({ description: 'The lines, 1-based, in the file as it is; none means all of it.' })
    ),
    end_line: Type.Optional(Type.Integer()),
    agents: Type.Array(Type.String(), { description: 'One or several of these have made them.' })
  },
  {
    title: 'LandForgotten',
    description:
      'Lines that differ from HEAD, by versions of the file that are no longer kept (crud.max_file_versions, crud.base_cache_bytes).'
  }
)
export type LandForgotten = Static<typeof LandForgotten>

/** What is said of a landing, or of one that is prepared, beside its files. */
const remarks = {
  dependent: Type.Array(LandDependence, { description: 'In the order of the paths.' }),
  taken_along: Type.Array(Type.String(), {
    description: 'Other tasks of the agent on which the changes rest, and which are landed with them.'
  }),
  uncertain: Type.Array(Type.String(), {
    description:
      "Files with changes that may be this agent's or another's, and are not taken: include_uncertain takes them."
  }),
  forgotten: Type.Array(LandForgotten, {
    description: 'Lines that may be of the agent, and are not taken, since it is forgotten who made them.'
  }),
  left_out: Type.Array(Type.String(), {
    description:
      'Changed paths whose content only a filter of Git can tell: land them by the command line. Also those of refused.'
  }),
  refused: Type.Array(Type.String(), {
    description:
      'Changed paths that Git takes into no commit, such as .GIT/x: on some systems that is its own folder. Rename them.'
  }),
  unreachable: Type.Array(Type.String(), {
    description:
      'Changed paths whose names are not UTF-8, with \\xHH for each such byte: no operation reaches these files. Commit them with Git.'
  })
}

export const LandDiff = Type.Object(
  {
    path: Type.String({ description: 'Relative to the working tree.' }),
    diff: Type.Union([Diff, Type.Null()], {
      description: 'Unified. Null if the file is no text or too large, or the answer has no room for more.'
    })
  },
  { title: 'LandDiff', description: 'What the commit would change in one file.' }
)
export type LandDiff = Static<typeof LandDiff>

export const LandOutput = Type.Object(
  {
    status: Type.String({
      enum: ['ok', 'dependent', 'nothing'],
      description:
        'ok: the commit is made (unless dry_run). dependent: nothing was landed, see dependent. nothing: there is nothing of this agent to land.'
    }),
    dry_run: IsDryRun,
    commit: Type.Optional(Type.String({ description: 'Its id.' })),
    branch: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'That was moved to it; null if HEAD is detached.' })
    ),
    paths: Type.Array(Type.String(), { description: 'That the commit changes, relative to the working tree.' }),
    diffs: Type.Optional(Type.Array(LandDiff, { description: 'Of a dry run: from HEAD to what would be committed.' })),
    ...remarks,
    message: Type.Optional(Type.String({ description: 'What was done, or what stands in the way and what to do.' })),
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'LandOutput', description: 'The commit, or what stands in its way.' }
)
export type LandOutput = Static<typeof LandOutput>
export type LandRemarks = Pick<LandOutput, keyof typeof remarks>

export const LandPrepareInput = inputObject({
  ...LandSelection,
  agent: Type.Optional(AgentName('None: only the plan of all agents.')),
  message: Type.Optional(Type.String({ ...messageText, description: 'Of the commit.' })),
  heads: Type.Optional(
    Type.Array(
      inputObject({ name: Type.String(), content: Type.String({ description: 'In Base64.' }) }, { title: 'LandHead' }),
      { maxItems: 10_000, description: 'What files of left_out have in HEAD, as the filters of Git make them.' }
    )
  ),
  agent_id: AgentId
})
export type LandPrepareInput = Static<typeof LandPrepareInput>

const LandFile = Type.Object(
  {
    name: Type.String({ description: 'Relative to the working tree.' }),
    mode: Type.String({ enum: ['100644', '100755', '120000'] }),
    content: Type.Union([Type.String(), Type.Null()], {
      description: 'In Base64, as in the working tree; the target of a link; null if the file is removed.'
    })
  },
  { title: 'LandFile' }
)

const LandShare = Type.Object(
  {
    agent_id: Type.String(),
    paths: Type.Array(Type.String()),
    added: Type.Integer({ description: 'Lines.' }),
    removed: Type.Integer(),
    dependent: Type.Array(LandDependence)
  },
  { title: 'LandShare', description: 'What of the tree one agent alone would land.' }
)

export const LandPrepareOutput = Type.Object(
  {
    status: Type.String({ enum: ['ok', 'dependent', 'nothing'] }),
    work_tree: Type.String({ description: 'Of the repository.' }),
    parent: Type.String({ description: 'The commit that HEAD is.' }),
    commit_message: Type.String(),
    files: Type.Array(LandFile),
    ...remarks,
    uncertain: Type.Array(Type.String(), {
      description: 'As of land; without agent, files with changes that one of several may have made.'
    }),
    unknown: Type.Array(Type.String(), {
      description:
        'Files with changes of unknown authors, made before the server first saw them or by versions that it does not remember at all: commit these with Git.'
    }),
    plan: Type.Array(LandShare, { description: 'Without agent: of each agent, in an order in which all could land.' }),
    share: Type.Array(Type.String(), { description: 'land.share' }),
    test: Type.Array(Type.String(), { description: 'land.test' }),
    message: Type.Optional(Type.String()),
    timestamp: Timestamp
  },
  { title: 'LandPrepareOutput', description: 'What a commit is to have; nothing is changed yet.' }
)
export type LandPrepareOutput = Static<typeof LandPrepareOutput>

export const LandFinishInput = inputObject({
  agent: AgentName('Whose changes it has.'),
  parent: Type.String({ pattern: '^[0-9a-f]{40,64}$' }),
  commit: Type.String({ pattern: '^[0-9a-f]{40,64}$', description: 'The commit that was made of what was prepared.' }),
  agent_id: AgentId
})
export type LandFinishInput = Static<typeof LandFinishInput>

export const LandFinishOutput = Type.Object(
  {
    status: Type.String({
      enum: ['ok', 'moved'],
      description: 'moved: HEAD has another commit by now, nothing was landed.'
    }),
    branch: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    timestamp: Timestamp
  },
  { title: 'LandFinishOutput', description: 'The branch is moved, and the index follows.' }
)
export type LandFinishOutput = Static<typeof LandFinishOutput>
