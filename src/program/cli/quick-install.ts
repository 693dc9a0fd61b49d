// async-crud-mcp quick-install: configuration, service, clients and a check that it works, in one command.
import { existsSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Option, type Command } from 'commander'
import { mainPath } from '../../support/installation.ts'
import type { Client } from '../setup/clients.ts'
import type { CommandSettings } from '../setup/roots.ts'
import { collect, createCommand, numberBetween, orFail } from './command.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import { paint, print } from './output.ts'

interface QuickInstallFlags {
  readonly dir?: string[]
  readonly client?: string[]
  readonly port?: number
  readonly service: boolean
  readonly hooks: boolean
  readonly confinement: boolean
}

const reachTimeoutMs = 30_000
const pollMs = 100

export function createQuickInstallCommand(): Command {
  return createCommand('quick-install')
    .description('configuration, service and clients in one command; uninstall undoes all of it')
    .hook('preAction', refuseEarlyFlags)
    .option('--dir <folder>', 'a root (repeatable; default: those of the configuration)', collect)
    .option('--client <name>', 'a client to set up (repeatable; default: all that are in use here)', collect)
    .addOption(
      new Option('--port <number>', 'the port in the configuration (1024-65535)').argParser(numberBetween(1024, 65535))
    )
    .option('--no-hooks', "leaves out the hooks that put the clients' own edits into the queues of the server")
    .option('--no-service', 'starts the server in the background now, not at each login')
    .option('--no-confinement', 'lets the service write everywhere, for systems that cannot confine it (systemd)')
    .addHelpText('after', '\nExample: async-crud-mcp quick-install --dir ~/app --client claude-code')
    .action(orFail(run))
}

async function run(flags: QuickInstallFlags): Promise<void> {
  const { findClient } = await import('../setup/options.ts')
  const { readSettings } = await import('../setup/roots.ts')
  const named = flags.client?.map(findClient)
  // Everything that can be wrong is checked before anything is written.
  const { roots } = readSettings(flags.dir)
  if (roots.length === 0) throw new Error('no root: pass --dir <folder>, or set crud.base_directories')
  await writeConfiguration(roots, flags.port)
  const settings = readSettings(flags.dir)
  const areConfigured = settings.roots.join('\0') === readSettings(undefined).roots.join('\0')
  await startServer(flags, { ...settings, areRootsNamed: !areConfigured })
  await setUpClients(named, roots, flags.hooks)
  print(`${paint('green', 'done')}. async-crud-mcp doctor checks it; async-crud-mcp uninstall undoes it.`)
}

async function writeConfiguration(roots: readonly string[], port: number | undefined): Promise<void> {
  const { findConfigFile } = await import('../../config/file.ts')
  const { createConfigFile } = await import('./config.ts')
  const { makeFolders, removeEmptyFolders } = await import('../setup/folders.ts')
  const { journalOfUser } = await import('../setup/user.ts')
  const file = findConfigFile(undefined, process.env)
  if (file === undefined) return
  if (existsSync(file.path)) {
    const { readSettings } = await import('../setup/roots.ts')
    const known = readSettings(undefined).port
    if (port !== undefined && known !== port)
      throw new Error(
        `${file.path} already exists and has port ${known}: set daemon.port to ${port} there, then run this again`
      )
    return print(`configuration: ${file.path} already exists`)
  }
  const made = makeFolders(dirname(file.path), 0o700)
  try {
    createConfigFile(file.path, roots, false, port)
  } catch (error) {
    removeEmptyFolders(made)
    throw error
  }
  journalOfUser().recordFolders(made)
  print(`configuration: ${file.path} written`)
}

/** By the service manager, else in the background. */
async function startServer({ service, confinement, dir }: QuickInstallFlags, settings: CommandSettings): Promise<void> {
  if (!settings.isEnabled) return print('server: daemon.enabled is false in the configuration, not started')
  const named = settings.areRootsNamed && dir !== undefined ? { dir } : {}
  const reason = service ? await startService({ ...named, confinement }) : '--no-service'
  if (reason === undefined) {
    const url = await waitForServer(settings)
    print(`server: ${paint('green', url)}, started at each login`)
    return printBoard(url)
  }
  const { startServer: startInBackground } = await import('./daemon-server.ts')
  const args = settings.areRootsNamed ? settings.roots.flatMap((root) => ['--dir', root]) : []
  const { url, wasRunning } = await startInBackground({ settings, args, token: undefined, logFile: undefined })
  print(
    `server: ${paint('green', url)}${wasRunning ? ' is already running' : ''}, in the background; not started at login: ${reason}`
  )
  printBoard(url)
}

function printBoard(url: string): void {
  if (URL.canParse(url)) print(`board: ${new URL('/board', url).href}, to watch in a browser`)
}

/** @returns why there is no service; undefined if there is one */
async function startService(flags: { dir?: string[]; confinement: boolean }): Promise<string | undefined> {
  const { defineService, installService } = await import('./service-install.ts')
  const { stopBackgroundOf } = await import('./daemon-server.ts')
  const { isServicePlatform } = await import('../service/choose-manager.ts')
  const { ServiceManagerError } = await import('../service/run-tool.ts')
  const { servicesOfUser } = await import('../service/user.ts')
  if (!isServicePlatform(process.platform)) return `no service manager is known for ${process.platform}`
  const defined = defineService(flags)
  const { installer } = servicesOfUser()
  const wasInstalled = installer.isInstalled(defined.definition.name)
  try {
    await installService(defined, async () => {
      // From now on the service manager runs the server.
      await stopBackgroundOf(defined.roots)
    })
    return undefined
  } catch (error) {
    if (!(error instanceof ServiceManagerError)) throw error
    if (!wasInstalled) installer.remove(defined.definition.name)
    return error.cause instanceof Error ? error.cause.message : error.message
  }
}

/** @returns its address. @throws Error if it cannot be reached in time */
async function waitForServer({ roots: [first = ''], token }: CommandSettings): Promise<string> {
  const { askHealth, isServing } = await import('../background/probe-server.ts')
  const { findServer } = await import('../../tree/state/state-file.ts')
  const { showProgress } = await import('./progress.ts')
  const root = realpathSync.native(first)
  const progress = showProgress('waiting for the server')
  try {
    for (const until = performance.now() + reachTimeoutMs; performance.now() < until; await delay(pollMs)) {
      const url = findServer(root)?.url ?? undefined
      if (url === undefined) continue
      if (isServing(await askHealth(url, token))) return url
    }
  } finally {
    progress.end()
  }
  throw new Error(
    `the service was started, and no server answers on ${root} within ${reachTimeoutMs / 1000} s: see bootstrap status and daemon logs`
  )
}

async function setUpClients(
  named: readonly Client[] | undefined,
  roots: readonly string[],
  hasHooks: boolean
): Promise<void> {
  const { clients } = await import('../setup/clients.ts')
  const { besideHooks, stdioLaunch } = await import('../setup/options.ts')
  const { takesHooks } = await import('../setup/hooks.ts')
  const { findHookForm } = await import('../setup/hook-forms.ts')
  const { describeReach, planClient } = await import('../setup/plan-client.ts')
  const { planPersistence } = await import('../setup/persistence.ts')
  const { tryEntry } = await import('../setup/try-entry.ts')
  const { cacheRemark } = await import('../setup/own-program.ts')
  const { journalOfUser, thisUser } = await import('../setup/user.ts')
  const user = thisUser()
  const launch = stdioLaunch(roots)
  const chosen = named ?? clients.filter((client) => client.traces(user).some((path) => existsSync(path)))
  if (chosen.length === 0) print('clients: none is in use here; later: async-crud-mcp setup <client>')
  else
    print(
      describeReach(
        'one of these clients',
        hasHooks,
        'For one project: async-crud-mcp setup <client> --project <folder>.'
      )
    )
  const kept =
    hasHooks && chosen.some(({ name }) => takesHooks(name))
      ? planPersistence(roots, process.env, journalOfUser())
      : undefined
  const failures: string[] = []
  for (const client of chosen) {
    try {
      const entry = hasHooks && takesHooks(client.name) ? besideHooks(launch) : launch
      const hookForm = await findHookForm(client, entry, undefined, process.env)
      for (const plan of planClient(client, { launch: entry, user, journal: journalOfUser(), hasHooks, hookForm })) {
        plan.apply()
        print(`${client.title}: ${plan.isChange ? `written into ${plan.file}` : `already set up in ${plan.file}`}`)
        if (plan.remark !== undefined) print(plan.remark)
      }
    } catch (error) {
      failures.push(`${client.title}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (chosen.length > failures.length) {
    kept?.apply()
    if (kept?.note !== undefined) print(kept.note)
    journalOfUser().recordProgram(mainPath)
    const remark = cacheRemark()
    if (remark !== undefined) print(remark)
    // It is the same entry in all clients, but for the tools that it offers.
    const reason = await tryEntry(launch)
    if (reason === undefined)
      print('The entry was started once: it answers. Restart the clients, or their MCP servers, to use it.')
    else failures.push(`the entry was started once and does not answer: ${reason}`)
  }
  // The other clients are set up all the same.
  if (failures.length > 0) throw new Error(failures.join('; '))
}
