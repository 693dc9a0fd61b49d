// The answer to an update that comes too late: the exact difference between what the agent knew and the current version.
import type { CallerInput } from './caller-input.ts'
import { EarlierModifications, Hash, modifications, Modification, Path, Timestamp } from './common.ts'
import { ChangedLines, notices } from './notices.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** One edit of an update: `old_string` is found in the running text and replaced. */
export const StringPatch = inputObject(
  {
    old_string: Type.String({
      minLength: 1,
      description:
        'Text to find, exactly as it is in the file. It must occur exactly once, or replace_all must be true.'
    }),
    new_string: Type.String({ description: 'Text to put in its place; "$" has no special meaning. "" deletes.' }),
    replace_all: Type.Optional(
      Type.Boolean({ description: 'Replace every occurrence instead of demanding exactly one. Default: false.' })
    )
  },
  { title: 'StringPatch', description: 'One edit by text: find old_string, put new_string.' }
)
export type StringPatch = CallerInput<typeof StringPatch>

/** One edit of an update by line numbers of the version that expected_hash names, whatever other edits do. */
export const LinePatch = inputObject(
  {
    start_line: Type.Integer({
      minimum: 1,
      description: 'First line to replace, 1-based, in the version that expected_hash names.'
    }),
    end_line: Type.Integer({
      minimum: 0,
      description: 'Last line to replace, inclusive; start_line - 1 replaces none and inserts before start_line.'
    }),
    new_content: Type.String({
      description:
        'The lines to put there, exactly; "" deletes the lines. If it does not end with a line end, it gets that of the last line replaced.'
    }),
    expected_lines: Type.Optional(
      Type.String({
        description:
          'The lines as you know them, joined by line ends of any kind: if the file has other lines there, nothing is changed.'
      })
    )
  },
  { title: 'LinePatch', description: 'One edit by lines: replace lines start_line to end_line.' }
)
export type LinePatch = CallerInput<typeof LinePatch>

export const Patch = Type.Union([StringPatch, LinePatch], {
  title: 'Patch',
  description: 'One edit, by text or by lines. A list is of one kind.'
})
export type Patch = StringPatch | LinePatch

const lineNumber = (description: string) => Type.Integer({ minimum: 0, description })

export const Change = Type.Object(
  {
    type: Type.String({ enum: ['added', 'removed', 'modified'], description: 'What happened to the lines.' }),
    start_line: lineNumber(
      'First line, 1-based: a line of the base for "modified" and "removed", of the current version for "added".'
    ),
    end_line: lineNumber('Last line, inclusive, counted like start_line.'),
    base_start_line: lineNumber(
      'Where the change is in the base, 1-based; for "added", the line before which it was inserted.'
    ),
    current_start_line: lineNumber(
      'Where the change is in the current version, 1-based; for "removed", the line before which the lines were.'
    ),
    old_content: Type.Optional(
      Type.String({
        description:
          'The base\'s lines, without the last line\'s terminator. Absent for "added", and like context_before.'
      })
    ),
    new_content: Type.Optional(
      Type.String({ description: 'The current lines, without the last line\'s terminator. Absent for "removed".' })
    ),
    context_before: Type.Optional(
      Type.String({
        description:
          "Unchanged lines above, without the last line's terminator. Absent, without diff_format, if all patches still apply: they can be sent as they are."
      })
    ),
    context_after: Type.Optional(
      Type.String({
        description: "Unchanged lines below, without the last line's terminator. Absent like context_before."
      })
    ),
    terminators_only: Type.Optional(
      Type.Boolean({ description: 'True if only line ends or the final newline differ.' })
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

/** The difference base -> current, in one of three forms. */
export const Diff = Type.Object(
  {
    format: Type.String({
      enum: ['json', 'unified', 'lines'],
      description:
        'Which of changes, content and lines is present. "lines": the diff costs more than reading the file again, so that it only names the lines that changed.'
    }),
    summary: DiffSummary,
    coarse: Type.Optional(
      Type.Boolean({
        description:
          'True if the versions were too large or too different for a minimal diff within the time limit: the diff is correct, but larger than necessary.'
      })
    ),
    advice: Type.Optional(Type.String({ description: 'How to get the whole diff, for format "lines".' })),
    lines: Type.Optional(
      Type.Array(ChangedLines, {
        description:
          'Lines of the current version, for format "lines": at most 20 ranges, which together have every change and may have unchanged lines between.'
      })
    ),
    changes: Type.Optional(Type.Array(Change, { description: 'The changes in order, for format "json".' })),
    content: Type.Optional(
      Type.String({ description: 'A unified diff that `patch` applies to the base, for format "unified".' })
    )
  },
  { title: 'Diff', description: 'The difference from the base (what the caller knew) to the current version.' }
)
export type Diff = Static<typeof Diff>

export const PatchConflict = Type.Object(
  {
    patch_index: Type.Integer({ minimum: 0, description: "Index in the request's patches, 0-based." }),
    reason: Type.String({
      enum: ['not_found', 'ambiguous', 'context_changed', 'lines_changed', 'lines_moved'],
      description:
        'not_found: old_string is not in the current version; for a patch by lines, the base has no such lines. ambiguous: old_string occurs several times. context_changed: what it replaces is there, but the lines around it differ from the base. lines_changed: the lines have changed. lines_moved: they are unchanged, but have other numbers now (applicable_patches).'
    }),
    base_start_line: Type.Optional(lineNumber('Where it applies in the base, 1-based, if known.')),
    base_end_line: Type.Optional(lineNumber('Its last line in the base, inclusive.'))
  },
  {
    title: 'PatchConflict',
    description: 'A patch that cannot, or should not blindly, be applied to the current version.'
  }
)
export type PatchConflict = Static<typeof PatchConflict>

export const ApplicablePatch = Type.Object(
  {
    patch_index: Type.Integer({ minimum: 0, description: "Index in the request's patches, 0-based." }),
    start_line: lineNumber(
      'First line in the current version; for a patch by lines, the start_line to send it with. With replace_all, where old_string occurs first.'
    ),
    end_line: lineNumber('Last line, inclusive, or start_line - 1 for an insertion.')
  },
  { title: 'ApplicablePatch', description: 'A patch that still applies, and where.' }
)
export type ApplicablePatch = Static<typeof ApplicablePatch>

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
    expected_hash: Hash,
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
