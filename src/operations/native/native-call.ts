// What a harness reports of its own tools, the same for every harness.
import type { StringPatch } from '../../../schemas/patches.ts'
import type { Fields } from '../../support/json-fields.ts'

/** One file that a native tool is about to change. Without `patches` the whole file counts as changed. */
export interface FileEdit {
  /** Absolute; links are not resolved. */
  readonly path: string
  readonly patches?: readonly StringPatch[] | undefined
  /** The whole new content, if the tool says it. */
  readonly content?: string | undefined
}

/** Lines that a native tool has shown to the model. */
export interface ShownText {
  readonly path: string
  /** 1-based. */
  readonly startLine: number
  /** The lines, as far as the harness passes them on; undefined for the current text. */
  readonly text?: string | undefined
  /** Of the whole file, as the tool has read it. Whether a line end at the end begins another line, harnesses count in two ways. */
  readonly totalLines?: number | undefined
  /** Number of lines if the text is not known; undefined means to the end. */
  readonly lineCount?: number | undefined
}

/** A command that a shell tool is about to run, or has run. */
export interface ShellCommand {
  /** The command line. */
  readonly command: string
  /** Absolute: where it runs. */
  readonly cwd: string
}

export type NativeEvent =
  | (ShellCommand & { readonly type: 'before_command' })
  /** @property task the name under which it goes on in the background; undefined if it has ended, well or not */
  | (ShellCommand & { readonly type: 'after_command'; readonly task?: string | undefined })
  /** A command in the background has ended. */
  | { readonly type: 'task_end'; readonly task: string }
  | { readonly type: 'before_edit'; readonly tool: string; readonly edits: readonly FileEdit[] }
  | { readonly type: 'after_edit'; readonly tool: string; readonly edits: readonly FileEdit[] }
  | { readonly type: 'after_read'; readonly shown: readonly ShownText[] }
  /** The model reads what is said now, and nothing else has happened. `isNewTurn`: no tool in the foreground is running any more. */
  | { readonly type: 'prompt'; readonly isNewTurn?: true }
  /** Of one agent, or with all its subagents. */
  | { readonly type: 'end'; readonly withSubagents: boolean }

export interface NativeCall {
  readonly session: string
  /** Set if a subagent runs the tool. */
  readonly subagent?: string | undefined
  /** Pairs the report after a tool with the one before it, if the harness numbers its calls. */
  readonly callId?: string | undefined
  /** The task that its changes belong to. */
  readonly changeSet?: string | undefined
  readonly event: NativeEvent
}

/** What came of it. Both undefined: nothing to say. */
export interface Outcome {
  /** The tool must not run; the reason is for the model. */
  readonly refusal?: string | undefined
  /** For the model. */
  readonly context?: string | undefined
}

export interface Harness {
  /** True if it reports what its tools read. Otherwise a model is taken to know what a refusal has said. */
  readonly reportsReads: boolean
  /** Undefined for an event or a tool that concerns no file. @throws Error that says what is missing */
  readonly read: (event: Fields) => NativeCall | undefined
  /** Null to say nothing. */
  readonly write: (event: Fields, outcome: Outcome) => Fields | null
}
