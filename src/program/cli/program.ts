// The command line: without a command the program serves.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, parse, resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { loadSettings, type Config } from '../../config/config.ts'
import { isLoopback } from '../../support/loopback.ts'
import { version } from '../../support/installation.ts'
import { toReal } from '../../support/real-path.ts'
import { nearest } from '../../support/suggest.ts'
import { createCommand, orFail } from './command.ts'
import { createConfigCommand } from './config.ts'
import { createDiscoverCommand } from './discover.ts'
import { createGuardCommand } from './guard.ts'
import { createLandCommand } from './land.ts'
import { createBootstrapCommand } from './bootstrap.ts'
import { createDaemonCommand } from './daemon.ts'
import { createDoctorCommand } from './doctor.ts'
import { createQuickInstallCommand } from './quick-install.ts'
import { createRunCommand } from './run.ts'
import { createSetupCommand } from './setup.ts'
import { createUninstallCommand } from './uninstall.ts'
import { addServeFlags, toSources, type ServeFlags } from './serve-flags.ts'

export const program = addServeFlags(createCommand('async-crud-mcp'))
  .description(
    'Serves the files of one working tree to many agents at once, over MCP, REST and JSON-RPC, without losing an update.'
  )
  .version(version)
  .addHelpText(
    'after',
    '\nIn a clone: npm start -- --dir <folder> --port 8720\nThen: claude mcp add --transport http async-crud-mcp http://127.0.0.1:8720/mcp'
  )
  // A flag after a command belongs to that command.
  .enablePositionalOptions()
  .usage('[options] [command]')
  .argument('[words...]')
  .action(orFail(runWithoutCommand))
  .addCommand(
    addServeFlags(createCommand('serve'))
      .description('runs the server; the default without a command')
      .addOption(new Option('--as-service').hideHelp())
      .addOption(new Option('--in-background').hideHelp())
      .action(orFail(run))
  )
  .addCommand(createConfigCommand())
  .addCommand(createDiscoverCommand())
  .addCommand(createGuardCommand())
  .addCommand(createRunCommand())
  .addCommand(createLandCommand())
  .addCommand(createDaemonCommand())
  .addCommand(createBootstrapCommand())
  .addCommand(createSetupCommand())
  .addCommand(createQuickInstallCommand())
  .addCommand(createUninstallCommand())
  .addCommand(createDoctorCommand())

/** Every setting that is set overrides them. */
const lastingDefaults = { 'persistence.enabled': true }
/**
 * A server started by hand serves the current folder, unless the settings name roots, or an empty list of them. Beside hooks it keeps what
 * agents may want back, whoever has set the client up.
 */
const defaultsByHand = ({ tools }: ServeFlags) => ({
  'crud.base_directories': [callingFolder(process.cwd(), process.env)],
  ...(Array.isArray(tools) && tools.includes('beside') && lastingDefaults)
})

async function runWithoutCommand(words: readonly string[], flags: ServeFlags, command: Command): Promise<void> {
  const [word, ...others] = words
  if (word === undefined) return run(flags, command)
  if (word === 'help') return showHelp(others, command)
  if (/[\\/]/.test(word) || existsSync(word))
    throw new Error(
      `too many arguments ('${word}'): every folder needs a --dir, and npm needs -- before the flags (npm start -- --dir <folder>)`
    )
  throw unknownCommand(word, command)
}

/** Of the program, or of the command that the words name. */
function showHelp([word, ...others]: readonly string[], command: Command): void {
  if (word === undefined) return command.outputHelp()
  const named = command.commands.find((each) => each.name() === word)
  if (named === undefined) throw unknownCommand(word, command)
  showHelp(others, named)
}

function unknownCommand(word: string, { commands }: Command): Error {
  const known = commands.map((each) => each.name())
  const near = nearest(word, known)
  if (near !== undefined) return new Error(`unknown command '${word}' (Did you mean ${near}?)`)
  return new Error(`unknown command '${word}'; known: ${known.join(', ')}. async-crud-mcp --help says what each does`)
}

async function run(_flags: ServeFlags, command: Command): Promise<void> {
  const flags = command.optsWithGlobals<ServeFlags>()
  const given = { ...toSources(flags), defaults: isLasting(flags) ? lastingDefaults : defaultsByHand(flags) }
  const known = loadSettings(given)
  const { daemon, mcp } = known.config
  if (flags['asService'] === true && !daemon.enabled) {
    process.stderr.write('async-crud-mcp: daemon.enabled is false in the configuration: the service does not serve\n')
    return
  }
  requireTokenBeyondLoopback(daemon.host, daemon.token)
  const isRootGiven = isLasting(flags) || known.values.get('crud.base_directories')?.origin.source !== 'default'
  const client = isRootGiven || daemon.transport !== 'stdio' ? undefined : await meet(mcp)
  const hasRoots = client !== undefined && client.roots.length > 0
  const sources = hasRoots
    ? { ...given, defaults: { ...given.defaults, 'crud.base_directories': client.roots } }
    : given
  const { config, values, warnings, file } = hasRoots ? loadSettings(sources) : known
  if (!isRootGiven) for (const root of config.crud.base_directories) refuseWide(root, homedir())
  const { source } = values.get('daemon.port')?.origin ?? {}
  // Loaded only now: --help and a wrong flag are answered without loading the service.
  const { serve } = await import('./serve.ts')
  await serve({
    config,
    isPortExplicit: (source === 'flag' || source === 'environment') && config.daemon.port !== null,
    warnings,
    reload: file && { path: file.path, load: () => loadSettings(sources) },
    followsPersistence: values.get('persistence.enabled')?.origin.source === 'default',
    rootsFrom: isRootGiven ? undefined : `no --dir was given${hasRoots ? ', and the client has roots' : ''}`,
    streams: client?.streams
  })
}

/** The client over standard input, which may offer folders. */
async function meet(mcp: Config['mcp']) {
  const { meetClient } = await import('../../transports/mcp/client-roots.ts')
  const createServer = async () => {
    const [{ createBareServer }, { offeredTools }] = await Promise.all([
      import('../../transports/mcp/server.ts'),
      import('../../transports/mcp/offered-tools.ts')
    ])
    return createBareServer({ operations: offeredTools(mcp), settings: mcp, version })
  }
  const streams = { input: process.stdin, output: process.stdout }
  return meetClient(streams, { createServer, patienceMs: mcp.roots_seconds * 1000 })
}

/** A server that runs permanently, and that something other than its clients restarts: they rely on what it knew. */
function isLasting({ asService, inBackground }: ServeFlags): boolean {
  return asService === true || inBackground === true
}

function requireTokenBeyondLoopback(host: string, token: string): void {
  if (!isLoopback(host) && token === '')
    throw new Error(`--host ${host} is reachable from other machines: pass --token <secret> with it`)
}

/** Scripts of npm run in the folder of their package; npm says from where it was called. */
function callingFolder(cwd: string, environment: Readonly<Record<string, string | undefined>>): string {
  const { INIT_CWD: calledFrom, npm_package_json: manifest } = environment
  const isScript = manifest !== undefined && dirname(manifest) === cwd
  return isScript && calledFrom !== undefined ? calledFrom : cwd
}

/** @throws Error for a whole disk, and for the home folder */
function refuseWide(folder: string, home: string): void {
  const path = resolve(folder)
  const isDisk = parse(path).root === path
  // A home folder may be a link, and Windows spells the same folder in several ways.
  if (!isDisk && toReal(path) !== toReal(home)) return
  const what = isDisk ? 'the whole disk' : 'your home folder'
  throw new Error(
    `no folder was named, and ${path} (${what}) is not served without being named: pass --dir <folder>, or start it in the folder of your project`
  )
}
