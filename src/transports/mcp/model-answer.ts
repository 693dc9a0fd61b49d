// What a model asks and is given: for MCP alone, an operation may fill in its input, and shorten, page or reword its result. REST and JSON-RPC never do.
import type { Diff } from '../../../schemas/diff.ts'
import { contentText, type OperationResult } from '../../engine/call/context.ts'
import type { KnownText } from '../../engine/versions/known-text.ts'
import type { Config } from '../../config/config.ts'
import { itemsThatFit } from '../../operations/answer-size.ts'
import { textFor, type ClientInfo, type TextForm } from './client-forms.ts'
import { listingLines } from './listing-lines.ts'
import { neededFields } from './needed-fields.ts'
import { withHashes } from './short-hashes.ts'
import { toolWords } from './tool-words.ts'
import { isFields } from '../../support/json-fields.ts'

/**
 * How one operation speaks with a model. To give an operation a form of its own, name it in `forms` below. Both ways of a
 * call come by here: `runTool` in `tools.ts` calls `askedByModel` before the operation and `answerForModel` behind it, for
 * the SDK and for the direct path alike.
 */
interface ModelForm {
  /** The input with the defaults that MCP alone has. It is not yet checked, and may be anything. */
  readonly input?: (input: unknown, facts: ModelFacts) => unknown
  /** The result. An error has one form, whatever the operation. */
  readonly answer?: (structured: OperationResult, facts: ModelFacts) => ModelAnswer
}

/** What holds for one client. */
export type ClientSettings = Config['mcp'] & { readonly text: TextForm }

export function settingsFor(settings: Config['mcp'], client: ClientInfo | undefined): ClientSettings {
  return { ...settings, text: textFor(settings, client) }
}

export interface ModelFacts {
  readonly settings: ClientSettings
  /** As the client sent it. */
  readonly input: unknown
  readonly isError: boolean
}

/** What is sent: structured content, a text, or both. Without a text, the text is the JSON of the structured content. */
export type ModelAnswer =
  | { readonly structured: OperationResult; readonly text?: ModelText }
  | { readonly structured?: undefined; readonly text: ModelText }

export interface ModelText {
  readonly head: string
  /** Text of a file, behind the head. */
  readonly content?: string
  /** The same text, if its JSON is known. */
  readonly known?: KnownText | undefined
}

const plainForm: ModelForm = {
  answer: (structured, { settings }) =>
    settings.text === 'plain' ? plainText(structured, settings.fields) : { structured }
}

const listForm: ModelForm = {
  // What Git ignores is seldom meant, and often most of a tree.
  input: (input, { settings }) =>
    settings.listing === 'compact' && leavesOpen(input) ? { ...input, ...toolWords['async_list']?.defaults } : input,
  answer: (structured, { settings, input }) =>
    settings.listing === 'compact' ? listingLines(structured, leavesOpen(input)) : { structured }
}

function leavesOpen(input: unknown): input is object {
  return isFields(input) && (input['ignore'] ?? null) === null
}

/** What an undo of very many changes names; the versions of its change set are in async_history. */
const undoForm: ModelForm = {
  answer(structured, { settings: { answer_chars: chars } }) {
    const { files, conflicts, ...others } = structured as {
      files: object[]
      conflicts: object[]
    }
    const shownConflicts = itemsThatFit(conflicts, chars / 2)
    const shownFiles = itemsThatFit(files, chars - JSON.stringify(shownConflicts).length)
    const shown = {
      ...others,
      files: shownFiles,
      conflicts: shownConflicts,
      ...(shownFiles.length < files.length && { further_files: files.length - shownFiles.length }),
      ...(shownConflicts.length < conflicts.length && { further_conflicts: conflicts.length - shownConflicts.length })
    }
    return { structured: shown }
  }
}

/** By the names of operations. */
const forms: Readonly<Record<string, ModelForm>> = {
  // A batch and a transaction have many contents, which only JSON keeps apart.
  async_read: plainForm,
  async_update: plainForm,
  async_append: plainForm,
  async_delete: plainForm,
  async_rename: plainForm,
  async_restore: plainForm,
  async_diff: plainForm,
  async_list: listForm,
  async_undo: undoForm,
  read_file: plainForm,
  edit_file: plainForm
}

export function askedByModel(name: string, input: unknown, facts: ModelFacts): unknown {
  return forms[name]?.input?.(input, facts) ?? input
}

export function answerForModel(name: string, body: OperationResult, facts: ModelFacts): ModelAnswer {
  const { settings, input, isError } = facts
  const needed = settings.fields === 'needed' ? neededFields(name, body, input) : body
  const structured = withHashes(needed, settings)
  if (!isError) return forms[name]?.answer?.(structured, facts) ?? { structured }
  // Gemini CLI shows its model both parts of an error; the others that show text show it once in either case.
  return settings.text === 'plain' ? { text: { head: JSON.stringify(structured) } } : { structured }
}

/** Whether the tool may answer without structured content, which a schema of its answers would demand. */
export function isPlainTool(name: string, { text, listing }: ClientSettings): boolean {
  if (name === 'async_list') return listing === 'compact'
  return text === 'plain' && forms[name] === plainForm
}

/**
 * Everything but the content of the file, or but the unified diff, on one line, then that text. Without structured content:
 * clients that get both show their model only that. An answer with neither, as one that nothing has changed, stays as it is.
 */
function plainText(structured: OperationResult, fields: Config['mcp']['fields']): ModelAnswer {
  const { content, diff, status, ...others } = structured as OperationResult & { readonly diff?: Diff | null }
  const isShort = fields === 'needed'
  if (typeof content === 'string') {
    // A content says that all is well.
    const head = isShort || status === undefined ? others : { status, ...others }
    return { text: { head: `${JSON.stringify(head)}\n`, content, known: structured[contentText] } }
  }
  if (diff?.format !== 'unified' || diff.content === undefined) return { structured }
  const { content: text, format: _, summary: _summary, ...about } = diff
  // Its lines say the rest.
  const shown = isShort ? about : { ...diff, content: undefined }
  const head = { status, ...others, ...(Object.keys(shown).length > 0 && { diff: shown }) }
  return { text: { head: `${JSON.stringify(head)}\n`, content: text } }
}
