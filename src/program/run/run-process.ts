// Runs a command as if its caller had: its input, output, terminal, signals and exit code are passed.
import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'

const passed: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
/** A terminal sends these to the command itself, too. */
const ofTerminal: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
const codes = { ENOENT: 127, EACCES: 126 } as Readonly<Record<string, number>>

interface Options {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Of standard input, output and error. Default: those of this process. */
  readonly stdio?: 'inherit' | readonly ['inherit', number, number]
}

/**
 * @returns the exit code; 128 and the number of the signal that has ended the command; 126 and 127 as a shell has them
 * @throws Error if the system cannot start it
 */
export async function runProcess(
  [file = '', ...args]: readonly string[],
  { stdio = 'inherit', ...options }: Options = {}
): Promise<number> {
  let child: ChildProcess | undefined
  const pass = (signal: NodeJS.Signals) => {
    if (!ofTerminal.has(signal) || !process.stdin.isTTY) child?.kill(signal)
  }
  // Before the start, since the command may be signalled through this process as soon as it runs.
  for (const signal of passed) process.on(signal, pass)
  try {
    child = spawn(file, args, { ...options, stdio: stdio === 'inherit' ? stdio : [...stdio] })
    return await ended(child, file, args.length === 0)
  } finally {
    for (const signal of passed) process.off(signal, pass)
  }
}

/** Of a command line that was passed as one word. */
const shellSyntax = /[\s|&;<>()$`*?]/

function ended(child: ChildProcess, file: string, isAlone: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const code = codes[error.code ?? '']
      if (code === undefined) return reject(error)
      const what = code === 127 ? 'command not found' : 'permission denied'
      const isLine = code === 127 && isAlone && shellSyntax.test(file)
      const hint = isLine ? `. No shell reads it: pass -- sh -c '${file.replaceAll("'", "'\\''")}'` : ''
      process.stderr.write(`async-crud-mcp: ${file}: ${what}${hint}\n`)
      resolve(code)
    })
    child.on('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
  })
}
