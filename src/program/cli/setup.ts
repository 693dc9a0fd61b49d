// async-crud-mcp setup <client>: writes our server into the configuration of an MCP client, shows it, or removes it.
import { Argument, Option, type Command } from 'commander'
import { collect, createCommand, orFail } from './command.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import type { Launch } from '../setup/clients.ts'
import { paint, print, printJson } from './output.ts'

export interface SetupFlags {
  readonly project?: string
  readonly dir?: string[]
  readonly transport: 'stdio' | 'http'
  readonly url?: string
  readonly tokenEnv?: string
  readonly print?: boolean
  readonly dryRun?: boolean
  readonly remove?: boolean
  readonly guard?: boolean
  readonly force?: boolean
  readonly json?: boolean
}

const clientNames = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex']

export function createSetupCommand(): Command {
  return createCommand('setup')
    .description('puts this server into the configuration of an MCP client, and leaves everything else there as it is')
    .hook('preAction', refuseEarlyFlags)
    .addArgument(new Argument('<client>', 'the client').choices(clientNames))
    .option('--project <folder>', "the client's file of this project (default: the one of this user)")
    .option(
      '--dir <folder>',
      'a root of the server (repeatable; default: the project, else the roots of the configuration)',
      collect
    )
    .addOption(
      new Option(
        '--transport <type>',
        'stdio: the client starts a process that joins the server of the tree; http: it connects to a running server'
      )
        .choices(['stdio', 'http'])
        .default('stdio')
    )
    .option(
      '--url <address>',
      'for --transport http (default: the server that runs on the tree, otherwise the configured port)'
    )
    .option('--token-env <variable>', 'for --transport http: environment variable of the client with the bearer token')
    .option('--guard', "also adds the guard to the project's hooks (Claude Code with --project)")
    .option('--print', 'prints the entry and changes nothing')
    .option('--dry-run', 'shows the exact change and makes none')
    .option('--remove', 'removes the entry, and the hook with it')
    .option('--force', 'replaces an entry of the same name that setup did not write')
    .option('--json', 'prints what was done as JSON')
    .addHelpText('after', '\nExample: async-crud-mcp setup cursor --project . --dry-run')
    .action(orFail(run))
}

async function run(name: string, flags: SetupFlags): Promise<void> {
  const { findClient, serverLocation, hookLocation } = await import('../setup/options.ts')
  const { thisUser, journalOfUser } = await import('../setup/user.ts')
  const client = findClient(name)
  const { project, guard, force, remove, tokenEnv } = flags
  if (guard && (name !== 'claude-code' || project === undefined))
    throw new Error(
      '--guard goes into the settings of a Claude Code project: setup claude-code --project <folder> --guard'
    )
  if (tokenEnv !== undefined && !/^[A-Za-z_]\w*$/.test(tokenEnv))
    throw new Error('--token-env is the name of an environment variable, never the token itself')
  // To remove the entry, its content does not matter.
  const launch = remove ? ({ transport: 'stdio', command: '', args: [] } as const) : await launchOf(flags)
  const place = serverLocation(client, launch, thisUser(), project)
  if (flags.print) return printEntry(place.target.add('').content, place.file)
  const { planAddition, planRemoval } = await import('../setup/plan.ts')
  const { isOurEntry } = await import('../setup/targets.ts')
  const journal = journalOfUser()
  const isOurs = force ? () => true : isOurEntry
  const plan = remove ? planRemoval : planAddition
  // The hook that came with the entry is removed with it.
  const isHookMeant = guard === true || (remove === true && name === 'claude-code')
  const hooks = isHookMeant && project !== undefined ? [plan(hookLocation(project), journal, () => true)] : []
  const plans = [plan(place, journal, isOurs), ...hooks.filter(({ isChange }) => isChange || guard === true)]
  for (const plan of plans) {
    if (!flags.dryRun) plan.apply()
    else if (!flags.json) await printChange(plan)
  }
  if (flags.json)
    return printJson(
      plans.map(({ file, isChange }) => ({ client: name, file, changed: isChange, dry_run: flags.dryRun ?? false }))
    )
  if (!flags.dryRun) for (const { file, isChange } of plans) print(outcome(file, isChange, remove ?? false))
  if (!flags.dryRun && plans.some(({ isChange }) => isChange))
    print(`Restart ${client.title}, or its MCP servers, to use it.`)
}

async function launchOf({ project, dir, transport, url, tokenEnv }: SetupFlags): Promise<Launch> {
  const { stdioLaunch } = await import('../setup/options.ts')
  const { findUrl, readSettings } = await import('../setup/roots.ts')
  const settings = readSettings(dir ?? (project === undefined ? undefined : [project]))
  const { roots } = settings
  if (transport === 'stdio') {
    if (url !== undefined || tokenEnv !== undefined) throw new Error('--url and --token-env go with --transport http')
    if (roots.length === 0) throw new Error('no root: pass --dir <folder>, or --project <folder>')
    return stdioLaunch(roots)
  }
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new Error(`--url ${url}: expected an address such as http://127.0.0.1:8720/mcp`)
  return { transport, url: url ?? findUrl(settings), ...(tokenEnv !== undefined && { tokenVariable: tokenEnv }) }
}

function printEntry(entry: string, file: string): void {
  process.stdout.write(entry)
  process.stderr.write(`Add this to ${file}\n`)
}

async function printChange({
  file,
  before,
  after,
  isChange
}: {
  file: string
  before: string | undefined
  after: string | undefined
  isChange: boolean
}): Promise<void> {
  if (!isChange) return print(`${file}: nothing to change`)
  const { describeChange } = await import('./text-change.ts')
  for (const line of describeChange(file, before, after)) {
    const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined
    print(style === undefined ? line : paint(style, line))
  }
}

function outcome(file: string, isChange: boolean, isRemoval: boolean): string {
  if (!isChange) return `${file}: ${isRemoval ? 'no entry of this server there' : 'already set up'}`
  return `${file}: ${isRemoval ? 'entry removed' : 'entry written'}`
}
