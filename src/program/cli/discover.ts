// async-crud-mcp discover: prints where the server of a tree is, for scripts. It loads nothing of the service, so it answers at once.
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import type { ServerState } from '../../tree/state/server-state.ts'
import { findServer } from '../../tree/state/state-file.ts'
import { createCommand, orFail } from './command.ts'

interface Flags {
  readonly dir?: string
  readonly url?: boolean
}

/** Exit code 1, with one line on stderr, if no server runs, or none that has what is asked for. */
export function createDiscoverCommand(): Command {
  return createCommand('discover')
    .description('prints where the server of the working directory is, or of a folder above it')
    .option('--dir <folder>', 'begin in this folder')
    .addOption(new Option('--json', 'everything in its state file (the default)').conflicts('url'))
    .option('--url', 'only its MCP address')
    .action(orFail(discover))
}

async function discover({ dir = '.', url = false }: Flags): Promise<void> {
  const state = findServer(dir, { onStale: warnOfStale })
  if (state === undefined)
    throw new Error(
      `no server runs for ${resolve(dir)} or a folder above it; start one there: async-crud-mcp --dir ${resolve(dir)}`
    )
  process.stdout.write(url ? `${addressOf(state)}\n` : `${JSON.stringify(state, undefined, 2)}\n`)
}

function warnOfStale({ pid, project: { root } }: ServerState): void {
  process.stderr.write(`async-crud-mcp: skipped the state file in ${root}, because its process ${pid} is gone\n`)
}

function addressOf({ url, project: { root } }: ServerState): string {
  if (url !== null) return url
  throw new Error(`the server of ${root} has no address: it answers only on standard input and output`)
}
