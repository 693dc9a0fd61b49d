// The edits of an update, by text or by lines, and what becomes of them on a later version.
import type { CallerInput } from './caller-input.ts'
import { lineNumber } from './common.ts'
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
