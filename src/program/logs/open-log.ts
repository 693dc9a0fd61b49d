// The destination of this process's log: a file, or standard error if no file is asked for or none can be had.
import type { Config } from '../../../schemas/config.ts'
import { logPathOf } from './log-files.ts'
import { createLogWriter, type LogWriter } from './log-writer.ts'

const dayMs = 86_400_000

export interface Log extends LogWriter {
  /** Undefined if the log goes to standard error. */
  readonly path: string | undefined
}

/** Never fails: a server without a log file is better than none. Does not use standard output: it may belong to JSON-RPC. */
export function openLog(
  { log_file, log_max_megabytes, log_keep_days }: Config['daemon'],
  stderr: { write(line: string): unknown } = process.stderr
): Log {
  const path = logPathOf(log_file)
  if (path === undefined) return toStandardError(stderr)
  try {
    const limits = { maxBytes: log_max_megabytes * 1_048_576, keepMs: log_keep_days * dayMs }
    const log = { path, ...createLogWriter({ path, ...limits, fallback: stderr }) }
    stderr.write(`async-crud-mcp: the log goes to ${path}\n`)
    return log
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    stderr.write(`async-crud-mcp: cannot write the log file ${path}, the log goes here instead: ${reason}\n`)
    return toStandardError(stderr)
  }
}

function toStandardError(stderr: { write(line: string): unknown }): Log {
  return { path: undefined, write: (line) => void stderr.write(line) }
}
