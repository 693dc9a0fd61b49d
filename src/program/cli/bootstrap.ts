// async-crud-mcp bootstrap: the server as a service of this user, started at login.
import type { Command } from 'commander'
import { collect, createCommand, orFail } from './command.ts'
import { paint, print, printJson, toTable } from './output.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import type { ServiceFlags } from './service-install.ts'

interface NameFlags {
  readonly name?: string
  readonly json?: boolean
}

interface InstallFlags extends NameFlags, ServiceFlags {
  readonly start?: boolean
  readonly dryRun?: boolean
}

/** Of `status`, as service managers have it. */
const notRunningCode = 3

export function createBootstrapCommand(): Command {
  return createCommand('bootstrap')
    .description('the server as a service of this user, started at login (docs/service.md)')
    .hook('preAction', refuseEarlyFlags)
    .addCommand(
      named('install', 'registers the service with systemd, launchd or the Task Scheduler')
        .option('--dir <folder>', 'a root (repeatable; default: those of the configuration)', collect)
        .option('--config <file>', 'the configuration file of the service (default: that of this user, if any)')
        .option('--start', 'also starts it, and fails if that is not possible')
        .option('--dry-run', 'prints the file of the service and changes nothing')
        .option('--no-confinement', 'lets the service write everywhere, for systems that cannot confine it (systemd)')
        .addHelpText('after', '\nExample: async-crud-mcp bootstrap install --dir ~/app --start')
        .action(orFail(install))
    )
    .addCommand(named('uninstall', 'stops the service and removes it').action(orFail(uninstall)))
    .addCommand(named('start', 'starts the service').action(orFail(start)))
    .addCommand(named('stop', 'stops the service, until the next login or start').action(orFail(stop)))
    .addCommand(
      named('status', `whether the service runs: exit code 0, or ${notRunningCode} if it does not`)
        .option('--json', 'for scripts')
        .action(orFail(status))
    )
    .addCommand(
      createCommand('list')
        .description('all services of this user, and whether they run')
        .option('--json', 'for scripts')
        .action(orFail(list))
    )
    .addHelpText('after', '\nExample: async-crud-mcp bootstrap status --json')
}

function named(name: string, description: string): Command {
  return createCommand(name)
    .description(description)
    .option('--name <name>', 'which service, if there are several: lower-case letters, digits, hyphens')
}

async function install(flags: InstallFlags): Promise<void> {
  const { adviceOn, defineService, installService, writeService } = await import('./service-install.ts')
  const { manager } = await load()
  const defined = defineService(flags)
  const { name } = defined.definition
  if (flags.dryRun) return void process.stdout.write(manager.render(defined.definition))
  if (flags.start && defined.isEnabled) {
    await installService(defined)
    return print(`${name}: started`)
  }
  if (flags.start) print('daemon.enabled is false in the configuration: not started')
  const isNew = writeService(defined)
  try {
    await manager.register(name)
  } catch (error) {
    return print(
      paint(
        'yellow',
        `${manager.fileOf(name)}: ${isNew ? 'written' : 'already exists'}, but ${adviceOn(error, name, manager)}`
      )
    )
  }
  print(`${manager.fileOf(name)}: ${isNew ? 'written' : 'is already installed'}`)
  print(`${name}: starts at the next login; now: async-crud-mcp bootstrap start`)
}

async function uninstall({ name }: NameFlags): Promise<void> {
  const { installer, manager, service } = await load(name)
  if (!installer.isInstalled(service)) return print(`${service}: is not installed; nothing was removed`)
  await manager.unregister(service).catch((error: Error) => warn(`${error.message}; its file is removed anyway`))
  installer.remove(service)
  print(`${service}: removed`)
}

async function start({ name }: NameFlags): Promise<void> {
  const { manager, service } = await loadInstalled(name)
  const { readSettings } = await import('../setup/roots.ts')
  if (!readSettings([]).isEnabled) return print('daemon.enabled is false in the configuration: not started')
  await manager.start(service)
  print(`${service}: started`)
}

async function stop({ name }: NameFlags): Promise<void> {
  const { manager, service } = await loadInstalled(name)
  await manager.stop(service)
  print(`${service}: stopped`)
}

async function status({ name, json }: NameFlags): Promise<void> {
  const { installer, manager, service } = await load(name)
  const file = manager.fileOf(service)
  const found = installer.isInstalled(service) ? await look(service) : undefined
  if (found?.is_running !== true) process.exitCode = notRunningCode
  if (json) return printJson({ name: service, file, is_installed: found !== undefined, ...found })
  if (found === undefined)
    return print(`${service}: is not installed; async-crud-mcp bootstrap install --dir <folder> does it`)
  print(
    `${service}: ${paint(found.is_running ? 'green' : 'yellow', found.state)}${found.pid === null ? '' : `, process ${found.pid}`}`
  )
  print(`file: ${file}`)
}

async function list({ json }: NameFlags): Promise<void> {
  const { installer, manager } = await load()
  const services = await Promise.all(
    installer.names().map(async (name) => ({ name, file: manager.fileOf(name), ...(await look(name)) }))
  )
  if (json) return printJson(services)
  if (services.length === 0) return print('no service is installed: async-crud-mcp bootstrap install')
  print(toTable(services.map(({ name, state, file }) => [name, state, file])))
}

/** A state that cannot be learnt is a state, too. */
async function look(service: string): Promise<{ is_running: boolean; state: string; pid: number | null }> {
  const { manager } = await load()
  try {
    const { isRunning, state, pid } = await manager.status(service)
    return { is_running: isRunning, state, pid }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { is_running: false, state: `unknown: ${reason}`, pid: null }
  }
}

async function load(name?: string) {
  const { serviceName } = await import('../service/definition.ts')
  const { servicesOfUser } = await import('../service/user.ts')
  return { ...servicesOfUser(), service: serviceName(name) }
}

async function loadInstalled(name: string | undefined) {
  const loaded = await load(name)
  if (loaded.installer.isInstalled(loaded.service)) return loaded
  throw new Error(
    `${loaded.service} is not installed: async-crud-mcp bootstrap install${name ? ` --name ${name}` : ''}`
  )
}

function warn(message: string): void {
  process.stderr.write(`async-crud-mcp: ${message}\n`)
}
