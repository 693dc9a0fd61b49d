// A landing by the command line of this program: with the filters, hooks, signing and tests that the settings let this server run.
import { execFile } from 'node:child_process'
import type { LandInput, LandOutput } from '../../../schemas/land.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { OperationError } from '../../errors.ts'
import { mainPath } from '../../support/installation.ts'
import { timestamp } from '../../support/timestamp.ts'

const maxBytes = 64 * 1024 * 1024
/** Of what the test has printed, its end. */
const shownChars = 4000

export async function runLanding(input: LandInput, { files, signal }: OperationContext): Promise<LandOutput> {
  const [root] = files.roots
  if (root === undefined) throw new OperationError('INVALID_REQUEST', 'This server serves no folder.')
  const { outcome, said } = await run(['land', '--json', `--dir=${root.real}`, ...toFlags(input)], root.real, signal)
  if (outcome === undefined) throw new OperationError('INVALID_REQUEST', said.replace(/^async-crud-mcp: /, ''))
  const { status, message = '' } = outcome
  if (status !== 'failed') return { ...outcome, status, timestamp: timestamp() }
  throw new OperationError('INVALID_REQUEST', message, { details: { output: said } })
}

type Outcome = Omit<LandOutput, 'status'> & { readonly status: LandOutput['status'] | 'failed' }

function run(args: readonly string[], cwd: string, signal: AbortSignal) {
  return new Promise<{ outcome: Outcome | undefined; said: string }>((resolve, reject) => {
    const options = { cwd, signal, maxBuffer: maxBytes, windowsHide: true } as const
    execFile(process.execPath, [mainPath, ...args], options, (error, stdout, stderr) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const said = stderr.trim().slice(-shownChars)
      if (stdout.trim() === '')
        return resolve({ outcome: undefined, said: said === '' ? (error?.message ?? 'nothing was said') : said })
      resolve({ outcome: JSON.parse(stdout) as Outcome, said })
    })
  })
}

function toFlags(input: LandInput): string[] {
  const { agent, of_change_set, paths = [], with: others = [], message, include_uncertain, include_overwritten } = input
  return [
    `--agent=${agent}`,
    ...(of_change_set === undefined ? [] : [`--change-set=${of_change_set}`]),
    ...paths.map((path) => `--paths=${path}`),
    ...others.map((other) => `--with=${other}`),
    ...(message === undefined ? [] : [`--message=${message}`]),
    ...(include_uncertain ? ['--include-uncertain'] : []),
    ...(include_overwritten ? ['--include-overwritten'] : [])
  ]
}
