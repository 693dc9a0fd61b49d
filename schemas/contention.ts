// The answer to an update that comes too late: the exact difference between what the agent knew and the current version.
import {
  EarlierModifications,
  ExpectedVersion,
  Hash,
  lineNumber,
  modifications,
  Modification,
  Path,
  Timestamp
} from './common.ts'
import { Diff } from './diff.ts'
import { notices } from './notices.ts'
import { ApplicablePatch, PatchConflict } from './patches.ts'
import { Type, type Static } from './typebox.ts'

const mergeSide = (title: string, description: string) =>
  Type.Object(
    {
      start_line: lineNumber('First line, 1-based.'),
      end_line: lineNumber(
        'Last line, inclusive; start_line - 1 if this version has no line here, just before start_line.'
      ),
      content: Type.Optional(
        Type.String({
          description: 'The lines with their line ends, exactly. Absent if the conflicts are too large to send.'
        })
      )
    },
    { title, description }
  )

export const MergeConflict = Type.Object(
  {
    reason: Type.String({
      enum: ['overlap', 'doubtful', 'invalid_json'],
      description:
        'overlap: both changed these lines, or lines that touch. doubtful: because of repeated lines a change here could mean several places, and the results differ. invalid_json: the changes fit, but the result would not be JSON, or would name a property twice.'
    }),
    base: mergeSide('MergeBase', 'The lines in the version you named.'),
    current: mergeSide('MergeCurrent', 'The same place in the current version.'),
    incoming: mergeSide('MergeIncoming', 'The same place in your change.')
  },
  { title: 'MergeConflict', description: 'A place where two changes of one version cannot both be made.' }
)
export type MergeConflict = Static<typeof MergeConflict>

export const Contention = Type.Object(
  {
    status: Type.Literal('contention', { description: 'Nothing was changed: the file is not the version expected.' }),
    path: Path,
    expected_hash: ExpectedVersion,
    current_hash: Hash,
    message: Type.String({ description: 'What happened and what to do next.' }),
    base_known: Type.Boolean({
      description: 'False if the bytes behind expected_hash are no longer kept: diff is null, read the file again.'
    }),
    diff: Type.Union([Diff, Type.Null()], {
      description:
        'The difference from expected_hash to current_hash; null if the base is not known, if either is not text in the encoding, or if there was no time to compare them: message says which.'
    }),
    ...modifications('The changes since the base, oldest first, as far as known; the last ten.'),
    patches_applicable: Type.Optional(
      Type.Boolean({
        description:
          'Only with patches or unified_diff: true guarantees that the same change succeeds on current_hash; false is caution. The hunks of a unified_diff count as patches here and below.'
      })
    ),
    conflicts: Type.Optional(Type.Array(PatchConflict, { description: 'Only with patches: the ones to review.' })),
    non_conflicting_patches: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0 }), { description: 'Only with patches: indices of those without conflict.' })
    ),
    applicable_patches: Type.Optional(
      Type.Array(ApplicablePatch, {
        description:
          'Only with patches: those that still apply, with their place in the current version. One whose old_string comes from an earlier patch has no place there yet.'
      })
    ),
    merge_conflicts: Type.Optional(
      Type.Array(MergeConflict, {
        description:
          'Only with on_contention "merge": where your change and the others\' cannot both be made, in order. Empty if the server was too busy to merge.'
      })
    ),
    further_merge_conflicts: Type.Optional(
      Type.Integer({ minimum: 1, description: 'How many more conflicts there are.' })
    ),
    merge_coarse: Type.Optional(
      Type.Boolean({
        description:
          'True if the versions were too large or too different for a minimal diff within the time limit: the conflicts are larger than necessary.'
      })
    ),
    timestamp: Timestamp,
    ...notices
  },
  { title: 'Contention', description: 'The update came too late. Adjust it by the diff and send it with current_hash.' }
)
export type Contention = Static<typeof Contention>

export const OnContention = Type.String({
  enum: ['report', 'merge'],
  default: 'report',
  description:
    'If the file is not the version expected: "report" writes nothing and answers with the diff; "merge" merges your change with the others\' where they do not touch, and otherwise reports.'
})

/** Properties of the answer to a change that was merged with other agents' changes. */
export const mergedAnswer = {
  merged: Type.Optional(
    Type.Literal(true, {
      description:
        'The file had changed since the version you named. Your change was made, beside those of others: diff shows these.'
    })
  ),
  diff: Type.Optional(
    Type.Union([Diff, Type.Null()], {
      description:
        'Only if merged: what others had changed, from expected_hash to previous_hash; null if there was no time to compare (read the file if you need it).'
    })
  ),
  modified_by: Type.Optional(
    Type.Array(Modification, {
      description: 'Only if merged: who had changed it, oldest first, as far as known; the last ten.'
    })
  ),
  earlier_modifications: EarlierModifications
}
