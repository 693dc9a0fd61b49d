// What an agent gets when its update comes too late: the exact difference between what it knew and what is there now.
import type { CallerInput } from './caller-input.ts'
import { Hash, Modification, Path, Timestamp } from './common.ts'
import { notices } from './notices.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** One edit of an update: `old_string` is found in the running text and replaced. */
export const Patch = inputObject(
  {
    old_string: Type.String({
      minLength: 1,
      description:
        'Text to find, exactly as it stands in the file. It must occur exactly once, or replace_all must be true.'
    }),
    new_string: Type.String({ description: 'Text to put in its place; "$" has no special meaning. "" deletes.' }),
    replace_all: Type.Boolean({
      default: false,
      description: 'Replace every occurrence instead of demanding exactly one.'
    })
  },
  { title: 'Patch', description: 'One edit: find old_string, put new_string.' }
)
export type Patch = CallerInput<typeof Patch>

const lineNumber = (description: string) => Type.Integer({ minimum: 0, description })

export const Change = Type.Object(
  {
    type: Type.String({ enum: ['added', 'removed', 'modified'], description: 'What happened to the lines.' }),
    start_line: lineNumber(
      'First line, 1-based: a line of the base for "modified" and "removed", of the current version for "added".'
    ),
    end_line: lineNumber('Last line, inclusive, counted like start_line.'),
    base_start_line: lineNumber(
      'Where the change stands in the base, 1-based; for "added", the line before which it was inserted.'
    ),
    current_start_line: lineNumber(
      'Where the change stands in the current version, 1-based; for "removed", the line before which the lines stood.'
    ),
    old_content: Type.Optional(
      Type.String({ description: 'The base\'s lines, without the last line\'s terminator. Absent for "added".' })
    ),
    new_content: Type.Optional(
      Type.String({ description: 'The current lines, without the last line\'s terminator. Absent for "removed".' })
    ),
    context_before: Type.String({ description: "Unchanged lines above, without the last line's terminator." }),
    context_after: Type.String({ description: "Unchanged lines below, without the last line's terminator." }),
    terminators_only: Type.Optional(
      Type.Boolean({ description: 'True where only line ends or the final newline differ.' })
    )
  },
  { title: 'Change', description: 'One region that differs between the base and the current version.' }
)
export type Change = Static<typeof Change>

export const DiffSummary = Type.Object(
  {
    lines_added: Type.Integer({ minimum: 0, description: 'Lines in "added" changes.' }),
    lines_removed: Type.Integer({ minimum: 0, description: 'Lines in "removed" changes.' }),
    lines_modified: Type.Integer({ minimum: 0, description: 'Base lines in "modified" changes.' }),
    regions_changed: Type.Integer({ minimum: 0, description: 'Number of changes.' })
  },
  { title: 'DiffSummary', description: 'How much differs.' }
)
export type DiffSummary = Static<typeof DiffSummary>

/** The difference base -> current, in one of two forms. */
export const Diff = Type.Object(
  {
    format: Type.String({ enum: ['json', 'unified'], description: 'Which of changes and content is present.' }),
    changes: Type.Optional(Type.Array(Change, { description: 'The changes in order, for format "json".' })),
    content: Type.Optional(
      Type.String({ description: 'A unified diff that `patch` applies to the base, for format "unified".' })
    ),
    summary: DiffSummary,
    coarse: Type.Optional(
      Type.Boolean({
        description:
          'True where the versions were too large or too different for a minimal diff within the bound: the diff is true, yet larger than it need be.'
      })
    )
  },
  { title: 'Diff', description: 'The difference from the base (what the caller knew) to the current version.' }
)
export type Diff = Static<typeof Diff>

export const PatchConflict = Type.Object(
  {
    patch_index: Type.Integer({ minimum: 0, description: "Index in the request's patches, 0-based." }),
    reason: Type.String({
      enum: ['not_found', 'ambiguous', 'context_changed'],
      description:
        'not_found: old_string is not in the current version. ambiguous: it occurs several times. context_changed: it is found, yet the lines around it differ from the base.'
    }),
    base_start_line: Type.Optional(lineNumber('Where old_string stood in the base, 1-based, where known.')),
    base_end_line: Type.Optional(lineNumber('Its last line in the base, inclusive.'))
  },
  {
    title: 'PatchConflict',
    description: 'A patch that cannot, or should not blindly, be applied to the current version.'
  }
)
export type PatchConflict = Static<typeof PatchConflict>

const mergeSide = (title: string, description: string) =>
  Type.Object(
    {
      start_line: lineNumber('First line, 1-based.'),
      end_line: lineNumber(
        'Last line, inclusive; start_line - 1 where this version has no line here, just before start_line.'
      ),
      content: Type.Optional(
        Type.String({
          description: 'The lines with their line ends, exactly. Absent where the conflicts are too large to send.'
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
        'overlap: both changed these lines, or lines that touch. doubtful: because of repeated lines a change here could mean several places, and the results differ. invalid_json: the changes fit, yet the result would be no JSON, or name a property twice.'
    }),
    base: mergeSide('MergeBase', 'The lines in the version you named.'),
    current: mergeSide('MergeCurrent', 'The same place in the current version.'),
    incoming: mergeSide('MergeIncoming', 'The same place as your change would have it.')
  },
  { title: 'MergeConflict', description: 'A place where two changes of one version cannot both stand.' }
)
export type MergeConflict = Static<typeof MergeConflict>

export const Contention = Type.Object(
  {
    status: Type.Literal('contention', { description: 'Nothing was changed: the file is not the version expected.' }),
    path: Path,
    expected_hash: Hash,
    current_hash: Hash,
    message: Type.String({ description: 'What happened and what to do next.' }),
    base_known: Type.Boolean({
      description: 'False where the bytes behind expected_hash are no longer kept: diff is null, read the file again.'
    }),
    diff: Type.Union([Diff, Type.Null()], { description: 'The difference from expected_hash to current_hash.' }),
    modified_by: Type.Array(Modification, {
      description: 'The changes since the base, oldest first, as far as known.'
    }),
    patches_applicable: Type.Optional(
      Type.Boolean({
        description:
          'Only with patches: true guarantees that the same patches succeed on current_hash; false is caution.'
      })
    ),
    conflicts: Type.Optional(
      Type.Array(PatchConflict, { description: 'Only with patches: the ones to look at again.' })
    ),
    non_conflicting_patches: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0 }), { description: 'Only with patches: indices of those without conflict.' })
    ),
    timestamp: Timestamp,
    ...notices
  },
  { title: 'Contention', description: 'The update came too late. Adjust it by the diff and send it with current_hash.' }
)
export type Contention = Static<typeof Contention>
