// The difference between two versions of a file.
import { lineNumber } from './common.ts'
import { ChangedLines } from './notices.ts'
import { Type, type Static } from './typebox.ts'

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
