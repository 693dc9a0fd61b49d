// async-crud-mcp setup <client>: writes our server into the configuration of an MCP client, shows it, or removes it.
import { Argument, Option, type Command } from 'commander'
import { collect, createCommand, orFail } from './command.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import { mainPath } from '../../support/installation.ts'
import { clientNames } from '../setup/client-names.ts'
import type { Client, Launch } from '../setup/clients.ts'
import type { Plan } from '../setup/plan.ts'
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
  readonly hooks: boolean
  readonly programHooks?: boolean
  readonly start: boolean
  readonly force?: boolean
  readonly json?: boolean
}

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
    .option('--no-hooks', "leaves out the hooks that put the client's own edits into the queues of the server")
    .option(
      '--program-hooks',
      'writes hooks that start a program, for versions of the client that know no cheaper form'
    )
    .option('--no-start', 'does not start the entry once to see whether it answers')
    .option('--print', 'prints the entry and changes nothing')
    .option('--dry-run', 'shows the exact change and makes none')
    .option('--remove', 'removes the entry and the hooks')
    .option('--force', 'replaces an entry of the same name that setup did not write')
    .option('--json', 'prints what was done as JSON')
    .addHelpText('after', '\nExample: async-crud-mcp setup cursor --project . --dry-run')
    .action(orFail(run))
}

async function run(name: string, flags: SetupFlags): Promise<void> {
  const { besideHooks, findClient, serverLocation } = await import('../setup/options.ts')
  const { takesHooks } = await import('../setup/hooks.ts')
  const { thisUser, journalOfUser } = await import('../setup/user.ts')
  const client = findClient(name)
  const { project, force, remove, tokenEnv } = flags
  if (tokenEnv !== undefined && !/^[A-Za-z_]\w*$/.test(tokenEnv))
    throw new Error('--token-env is the name of an environment variable, never the token itself')
  // To remove the entry, its content does not matter.
  const plain = remove ? ({ transport: 'stdio', command: '', args: [] } as const) : await launchOf(client, flags)
  const hasHooks = flags.hooks && takesHooks(client.name)
  // What is printed is for a file that its user writes, without hooks.
  const launch = hasHooks && !flags.print ? besideHooks(plain) : plain
  if (flags.print) {
    const { target, file } = serverLocation(client, launch, thisUser(), project)
    return printEntry(target.add('').content, file, project !== undefined && launch.transport === 'stdio')
  }
  const { describeReach, planClient } = await import('../setup/plan-client.ts')
  const { describeNeed, findHookForm } = await import('../setup/hook-forms.ts')
  const hookForm =
    hasHooks && !remove && !flags.programHooks ? await findHookForm(client, launch, project, process.env) : undefined
  const plans = planClient(client, {
    launch,
    user: thisUser(),
    journal: journalOfUser(),
    project,
    hasHooks: flags.hooks,
    hookForm,
    isRemoval: remove,
    isForced: force
  })
  const kept = await planKept(plans, hasHooks, flags)
  const isWritten = !remove && plans.some(({ isChange }) => isChange)
  if (isWritten && project === undefined && !flags.json) print(describeReach(client.title, hasHooks, adviceFor(client)))
  const shown = [
    ...plans.filter(({ isChange }, index) => index === 0 || isChange || !remove),
    ...(kept === undefined ? [] : [kept])
  ]
  for (const plan of shown) {
    if (!flags.dryRun) plan.apply()
    else if (!flags.json) await printChange(plan)
  }
  const isMade = !flags.dryRun && !remove
  if (isMade) journalOfUser().recordProgram(mainPath)
  const silence = isMade || launch.transport === 'http' ? await findSilence(client, launch, flags) : 'not asked'
  const need = project === undefined || hookForm === undefined ? undefined : describeNeed(client, hookForm)
  const done = { client, shown, silence, transport: launch.transport, need }
  return flags.json ? printDoneAsJson(done, flags) : printDone(done, flags)
}

/** With hooks, what the server keeps is to survive its restart. */
async function planKept(
  plans: readonly Plan[],
  hasHooks: boolean,
  { remove, dir, project }: SetupFlags
): Promise<Plan | undefined> {
  const { planPersistence, planPersistenceRemoval } = await import('../setup/persistence.ts')
  const { journalOfUser } = await import('../setup/user.ts')
  const files = plans.map(({ file }) => file)
  if (remove) return planPersistenceRemoval(files, journalOfUser())
  const roots = dir ?? (project === undefined ? [] : [project])
  return hasHooks ? planPersistence(roots, process.env, journalOfUser()) : undefined
}

interface Done {
  readonly client: Client
  readonly shown: readonly Plan[]
  readonly transport: Launch['transport']
  /** Of each member of the team. */
  readonly need: string | undefined
  /** As `findSilence` says, or 'not asked'. */
  readonly silence: string | undefined
}

function printDoneAsJson({ client, shown, silence }: Done, { dryRun = false }: SetupFlags): void {
  printJson(
    shown.map(({ file, isChange }, index) => ({
      client: client.name,
      file,
      changed: isChange,
      dry_run: dryRun,
      ...(index === 0 && silence !== 'not asked' && { answers: silence === undefined })
    }))
  )
}

async function printDone({ client, shown, silence, transport, need }: Done, flags: SetupFlags): Promise<void> {
  const { dryRun = false, remove = false, project } = flags
  if (!dryRun) for (const plan of shown) print(plan.note ?? outcome(plan, remove))
  for (const { remark } of shown) if (remark !== undefined) print(remark)
  if (need !== undefined) print(need)
  if (!dryRun && shown.some(({ isChange }) => isChange))
    print(describeRestart(client.title, remove, project !== undefined))
  const { cacheRemark } = await import('../setup/own-program.ts')
  const remark = dryRun || remove ? undefined : cacheRemark()
  if (remark !== undefined) print(remark)
  if (silence === undefined)
    print(transport === 'http' ? 'The server answers.' : 'The entry was started once: it answers.')
  else if (silence !== 'not asked') process.stderr.write(`async-crud-mcp: ${silence}\n`)
}

/** Why the entry reaches no server, and what to do; undefined if it does. */
async function findSilence(
  client: Client,
  launch: Launch,
  { project, dir, start }: SetupFlags
): Promise<string | undefined> {
  if (launch.transport === 'http') {
    const { askHealth, findOtherTree, isServing } = await import('../background/probe-server.ts')
    if (!isServing(await askHealth(launch.url, '')))
      return `no server answers at ${launch.url} now: start one there (async-crud-mcp daemon start), or name another --url`
    const folder = project ?? dir?.[0]
    const other = folder === undefined ? undefined : await findOtherTree(launch.url, folder)
    if (other === undefined) return undefined
    return `the server at ${launch.url} serves ${other}, not ${folder}: start one on ${folder} (async-crud-mcp daemon start --dir ${folder}), and name its --url`
  }
  if (!start) return 'not asked'
  const { asStarted, tryEntry } = await import('../setup/try-entry.ts')
  const reason = await tryEntry(asStarted(launch, client, project), project)
  if (reason === undefined) return undefined
  return `the entry was started once and does not answer: ${reason}. Correct that; async-crud-mcp doctor checks the rest`
}

async function launchOf(client: Client, { project, dir, transport, url, tokenEnv }: SetupFlags): Promise<Launch> {
  const { sharedLaunch, stdioLaunch } = await import('../setup/options.ts')
  const { findUrl, readSettings } = await import('../setup/roots.ts')
  const settings = readSettings(dir ?? (project === undefined ? undefined : [project]))
  const { roots } = settings
  if (transport === 'stdio') {
    if (url !== undefined || tokenEnv !== undefined) throw new Error('--url and --token-env go with --transport http')
    if (project !== undefined) return sharedLaunch(client, project, dir === undefined ? [] : roots)
    if (roots.length === 0) throw new Error('no root: pass --dir <folder>, or --project <folder>')
    return stdioLaunch(roots)
  }
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new Error(`--url ${url}: expected an address such as http://127.0.0.1:8720/mcp`)
  return { transport, url: url ?? findUrl(settings), ...(tokenEnv !== undefined && { tokenVariable: tokenEnv }) }
}

function adviceFor({ name, title, projectFile }: Client): string {
  return projectFile === undefined
    ? `${title} has no file for one project.`
    : `For one project: async-crud-mcp setup ${name} --project <folder>.`
}

/** @param hasLauncher whether the entry starts the launcher of the project, which is not written here */
function printEntry(entry: string, file: string, hasLauncher: boolean): void {
  process.stdout.write(entry)
  const launcher = hasLauncher ? '. It starts .mcp/async-crud-mcp.cjs, which setup writes without --print' : ''
  process.stderr.write(`Add this to ${file}${launcher}\n`)
}

/** Clients start nothing that a project names before their user has agreed. */
function describeRestart(title: string, isRemoval: boolean, isOfProject: boolean): string {
  if (isRemoval) return `Restart ${title}, or its MCP servers, to work without it.`
  const question = isOfProject ? ` If ${title} asks whether to trust what this project starts, agree.` : ''
  return `Restart ${title}, or its MCP servers, to use it.${question}`
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

function outcome({ file, isChange }: Plan, isRemoval: boolean): string {
  if (!isChange) return `${file}: ${isRemoval ? 'no entry of this server there' : 'already set up'}`
  return `${file}: ${isRemoval ? 'entry removed' : 'entry written'}`
}
