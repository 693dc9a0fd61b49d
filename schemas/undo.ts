// async_undo: takes back the changes of an agent, a task, a time or a list of versions, and keeps what others have built.
import {
  changeCall,
  changeSetText,
  DiffFormat,
  DryRun,
  ForgottenBefore,
  HashOrNull,
  IsDryRun,
  modeFacts,
  Path,
  Replayed,
  replacedVersion,
  Timeout,
  Timestamp,
  VersionOf
} from './common.ts'
import { MergeConflict } from './contention.ts'
import { Diff } from './diff.ts'
import { inputObject, Type, type Static } from './typebox.ts'

const Moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

export const UndoInput = inputObject({
  by_agent: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only changes that this agent has made. external: made outside this server.'
    })
  ),
  of_change_set: Type.Optional(
    Type.String({ ...changeSetText, description: 'Only changes of this change set, as async_history shows it.' })
  ),
  since: Moment('Only changes from this time on, those from outside included.'),
  until: Moment('Only changes up to this time, those from outside included.'),
  paths: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      minItems: 1,
      maxItems: 100,
      description: 'Only changes of files that one of these globs fits, relative to their root.'
    })
  ),
  versions: Type.Optional(
    Type.Array(
      inputObject(
        { path: Path, hash: VersionOf('The version.') },
        { title: 'UndoVersion', description: 'A version whose change is taken back.' }
      ),
      {
        minItems: 1,
        maxItems: 1000,
        description:
          'Only the changes that made these versions. At least one of all these is needed; several narrow each other.'
      }
    )
  ),
  include_uncertain: Type.Boolean({
    default: false,
    description:
      'Take back, too, changes by shell commands of which another may be the author. Without it they stay, and uncertain says how many.'
  }),
  partial: Type.Boolean({
    default: false,
    description: 'Take back what can be, and leave changes that conflict. Without it a conflict stops all of it.'
  }),
  dry_run: DryRun,
  timeout: Timeout,
  diff_format: DiffFormat,
  ...changeCall
})
export type UndoInput = Static<typeof UndoInput>

export const UndoneFile = Type.Object(
  {
    path: Path,
    new_path: Type.Optional(Type.String({ description: 'The name that it has again, if it was renamed.' })),
    previous_hash: HashOrNull('The version before the undo; null if there was no file.'),
    hash: HashOrNull('The version now; null if the file is gone again.'),
    ...modeFacts,
    changes: Type.Integer({ minimum: 0, description: 'How many changes of it were taken back.' }),
    ...replacedVersion,
    diff: Type.Optional(Type.Union([Diff, Type.Null()], { description: 'Of a dry run.' }))
  },
  { title: 'UndoneFile', description: 'What the undo makes of one file.' }
)

export const UndoConflict = Type.Object(
  {
    path: Path,
    hash: HashOrNull('The version whose change is not taken back; null if the change removed the file.'),
    reason: Type.String({
      enum: [
        'overlap',
        'built_upon',
        'created_again',
        'mode_changed_again',
        'renamed_again',
        'in_the_way',
        'not_kept',
        'refused'
      ],
      description:
        'overlap: others have changed the same lines (merge_conflicts). built_upon: others have changed the file that the change created. created_again: another file has the name of the one it removed. mode_changed_again: others have given the file another mode since. renamed_again: the file has another name by now. in_the_way: something else is at the name that the file had. not_kept: the bytes needed are not kept. refused: the file is read-only, or a setting forbids the change.'
    }),
    message: Type.String({ description: 'What stands in the way, and what to do.' }),
    merge_conflicts: Type.Optional(
      Type.Array(MergeConflict, {
        description: 'Each region: base is the version whose change is taken back, incoming the one before it.'
      })
    )
  },
  { title: 'UndoConflict', description: 'A change that is not taken back.' }
)
export type UndoConflict = Static<typeof UndoConflict>

export const UndoOutput = Type.Object(
  {
    status: Type.String({
      enum: ['ok', 'contention'],
      description: 'ok: taken back, and on disk (unless dry_run). contention: nothing was changed; see conflicts.'
    }),
    dry_run: IsDryRun,
    change_set: Type.Optional(
      Type.String({ description: 'Of the undo: async_undo with it as of_change_set is the redo.' })
    ),
    undone: Type.Integer({ minimum: 0, description: 'Changes that were taken back.' }),
    uncertain: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Changes that fit and were left, since it is not known who made them. include_uncertain takes them.'
      })
    ),
    files: Type.Array(UndoneFile, { description: 'The files that changed.' }),
    conflicts: Type.Array(UndoConflict, { description: 'The changes that were not taken back.' }),
    further_files: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Over MCP, if the answer has no room for more: files that are left out.'
      })
    ),
    further_conflicts: Type.Optional(Type.Integer({ minimum: 1, description: 'The same of conflicts.' })),
    forgotten_before: ForgottenBefore,
    message: Type.Optional(Type.String({ description: 'If nothing was taken back: why, and what to do next.' })),
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'UndoOutput', description: 'The changes asked for are taken back, as one transaction.' }
)
export type UndoOutput = Static<typeof UndoOutput>
