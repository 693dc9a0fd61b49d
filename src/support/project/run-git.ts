// Runs Git on a repository that another user may have prepared: bounded, and without any program that Git could start on its own.
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'

export interface GitResult {
  /** Undefined if Git failed, took too long, or is not there. */
  readonly output: string | undefined
  /** True if Git wrote more than is read. */
  readonly isCut: boolean
}

const maxOutputBytes = 65_536

/**
 * No prompt, no lock, no network: a partial clone would fetch missing objects, by a command that its configuration names.
 * Variables of a Git that started this server, such as from a hook, would name another repository.
 */
function environment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^GIT_/i.test(name))
  return {
    ...Object.fromEntries(inherited),
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: '',
    GIT_NO_LAZY_FETCH: '1',
    LC_ALL: 'C',
    ...more
  }
}

/** Programs that a configuration can name for every command. */
const options = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '--no-pager']

export function runGit(
  args: readonly string[],
  signal: AbortSignal,
  variables: Readonly<Record<string, string>> = {},
  maxBytes = maxOutputBytes
): Promise<GitResult> {
  return new Promise((resolve) => {
    execFile(
      'git',
      [...options, ...args],
      {
        // Windows looks for programs in the working directory first: it must not be one that other users can write.
        cwd: dirname(process.execPath),
        env: environment(variables),
        maxBuffer: maxBytes,
        signal,
        killSignal: 'SIGKILL',
        windowsHide: true
      },
      (error, stdout) =>
        resolve({
          output: error === null ? stdout : undefined,
          isCut: error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
        })
    )
  })
}
