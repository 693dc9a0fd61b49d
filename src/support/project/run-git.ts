// Runs Git on a repository that another user may have prepared: bounded, and without any program that Git could start on its own.
import { execFile, spawn } from 'node:child_process'
import { dirname } from 'node:path'

/** Runs Git with something to read. @returns what it has written @throws if it fails */
export type Git = (args: readonly string[], input: Buffer) => Promise<Buffer>

const maxOutputBytes = 65_536
const maxPipedBytes = 64 * 1024 * 1024

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

function processOptions(signal: AbortSignal, variables: Readonly<Record<string, string>>) {
  return {
    // Windows looks for programs in the working directory first: it must not be one that other users can write.
    cwd: dirname(process.execPath),
    env: environment(variables),
    signal,
    killSignal: 'SIGKILL',
    windowsHide: true
  } as const
}

/** @returns what Git has written; undefined if it failed, took too long, is not there, or wrote more than `maxBytes` */
export async function runGit(
  args: readonly string[],
  signal: AbortSignal,
  variables: Readonly<Record<string, string>> = {},
  maxBytes = maxOutputBytes
): Promise<string | undefined> {
  return (await pipeGit(args, signal, variables, Buffer.alloc(0), maxBytes))?.toString()
}

/** `cut`: `use` wanted no more. */
export type StreamEnd = 'complete' | 'cut' | 'failed'

/** Bytes of one record; Git writes none longer than a few paths. */
const maxRecordBytes = 1_048_576

/**
 * The same for a long answer: each record that ends with NUL is used as it comes.
 * @param use false to get no more
 */
export function streamGit(
  args: readonly string[],
  signal: AbortSignal,
  variables: Readonly<Record<string, string>>,
  use: (record: Buffer) => boolean
): Promise<StreamEnd> {
  return new Promise((resolve) => {
    const git = spawn('git', [...options, ...args], {
      ...processOptions(signal, variables),
      stdio: ['ignore', 'pipe', 'ignore']
    })
    let rest: Buffer = Buffer.alloc(0)
    let isCut = false
    let hasFailed = false
    const stop = () => {
      git.stdout.destroy()
      git.kill('SIGKILL')
    }
    git.stdout.on('data', (chunk: Buffer) => {
      if (isCut || hasFailed) return
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let at = 0
      for (let end = bytes.indexOf(0); end !== -1 && !isCut; end = bytes.indexOf(0, at)) {
        isCut = !use(bytes.subarray(at, end))
        at = end + 1
      }
      rest = bytes.subarray(at)
      hasFailed = rest.length > maxRecordBytes
      if (isCut || hasFailed) stop()
    })
    git.on('error', () => {
      hasFailed = true
    })
    git.on('close', (code) => resolve(isCut ? 'cut' : hasFailed || code !== 0 ? 'failed' : 'complete'))
  })
}

/**
 * The same with something to read, which may come later; it must not fail.
 * @param noCode the code with which Git says no, which is an answer as well
 * @returns undefined if Git failed, or wrote more than `maxBytes`
 */
export function pipeGit(
  args: readonly string[],
  signal: AbortSignal,
  variables: Readonly<Record<string, string>>,
  input: Buffer | Promise<Buffer>,
  maxBytes = maxPipedBytes,
  noCode?: number
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const git = execFile(
      'git',
      [...options, ...args],
      { ...processOptions(signal, variables), maxBuffer: maxBytes, encoding: 'buffer' },
      (error, stdout) => resolve(error === null || error.code === noCode ? stdout : undefined)
    )
    // Git may end before it has read everything.
    git.stdin?.on('error', () => {})
    void Promise.resolve(input).then((bytes) => git.stdin?.end(bytes))
  })
}
