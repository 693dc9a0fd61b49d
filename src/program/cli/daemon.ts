// async-crud-mcp daemon: the server in the background, one per tree.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { createCommand, numberBetween, orFail } from './command.ts'
import { refuseEarlyFlags } from './early-flags.ts'
import type { Running } from './daemon-server.ts'
import { paint, print, printJson } from './output.ts'
import { addServeFlags, type ServeFlags } from './serve-flags.ts'

interface TreeFlags {
  readonly dir?: string
  readonly config?: string
  readonly json?: boolean
}

interface StopFlags extends TreeFlags {
  /** Seconds. */
  readonly timeout: number
}

interface LogFlags extends TreeFlags {
  readonly follow?: boolean
  readonly lines: number
}

/** Of `status`, as service managers have it. */
const notRunningCode = 3
const healthStyles: Readonly<Record<string, 'green' | 'yellow'>> = { healthy: 'green', degraded: 'yellow' }
const defaultLines = 50
/** Longer than a stop of the server takes, including the time for running operations. */
const defaultStopSeconds = 10
const secretFlag = '--token'

export function createDaemonCommand(): Command {
  return createCommand('daemon')
    .description('the server in the background, one for each tree (docs/service.md)')
    .hook('preAction', refuseEarlyFlags)
    .addCommand(createStart())
    .addCommand(withTimeout(ofTree('stop', 'stops it, by force if it does not end in time')).action(orFail(stop)))
    .addCommand(
      withTimeout(ofTree('restart', 'stops it and starts it again with the same flags')).action(orFail(restart))
    )
    .addCommand(
      ofTree('status', `its address and health: exit code 0, or ${notRunningCode} if none runs`)
        .option('--json', 'for scripts')
        .action(orFail(status))
    )
    .addCommand(
      ofTree('logs', 'the last lines of its log')
        .option('--follow', 'prints new lines as they come, until Ctrl-C')
        .option('--lines <number>', 'how many', numberBetween(0, 1_000_000), defaultLines)
        .option('--json', 'the lines as they are in the file; the default if the output is not a terminal')
        .action(orFail(logs))
    )
    .addHelpText('after', '\nExample: async-crud-mcp daemon start --dir ~/app && async-crud-mcp daemon logs --follow')
}

/** With the flags of the server, which are passed on as typed. */
function createStart(): Command {
  const command = addServeFlags(createCommand('start'))
    .description('starts the server in the background, with these flags, and waits until it can be reached')
    .addHelpText('after', '\nExample: async-crud-mcp daemon start --dir ~/app')
  const typed: [flag: string, value: string][] = []
  for (const option of command.options) {
    command.on(`option:${option.name()}`, (value: string) => typed.push([option.long ?? '', value]))
  }
  return command.action(orFail((flags: ServeFlags) => start(flags, typed)))
}

function ofTree(name: string, description: string): Command {
  return createCommand(name)
    .description(description)
    .option(
      '--dir <folder>',
      'the first root of its tree (default: the configured one, otherwise the only one running)'
    )
    .option('--config <file>', 'the configuration file that names the tree')
}

function withTimeout(command: Command): Command {
  return command.option('--timeout <seconds>', 'before it is killed, 1-300', numberBetween(1, 300), defaultStopSeconds)
}

async function start(flags: ServeFlags, typed: readonly (readonly [string, string])[]): Promise<void> {
  const { startServer } = await import('./daemon-server.ts')
  const { readSettings } = await import('../setup/roots.ts')
  const settings = readSettings(flags['dir'] as string[] | undefined, flags['config'] as string | undefined)
  if (!settings.isEnabled) return print('daemon.enabled is false in the configuration: nothing was started')
  const transport = flags['transport'] as string | undefined
  if (transport !== undefined && transport !== 'http')
    throw new Error(`--transport ${transport}: a server in the background has no standard input; it serves HTTP`)
  const token = typed.findLast(([flag]) => flag === secretFlag)?.[1]
  const args = typed.filter(([flag]) => flag !== secretFlag && flag !== '--transport').flatMap(toAbsolute)
  describe(await startServer({ settings, args, token, logFile: flags['logFile'] as string | undefined }))
}

async function stop({ timeout, ...flags }: StopFlags): Promise<void> {
  const { recordsOfUser, chooseRoot } = await import('./daemon-server.ts')
  const { stopBackground } = await import('../background/background.ts')
  const records = recordsOfUser()
  const root = await chooseRoot(flags)
  const record = root === undefined ? undefined : records.read(root)
  if (root === undefined || record === undefined)
    return print(`${root ?? 'the server'}: no server here was started by daemon start`)
  const outcome = await stopBackground(record, timeout * 1000)
  records.remove(root)
  if (outcome === 'not running') return print(`process ${record.pid} had already ended`)
  print(
    outcome === 'stopped'
      ? `process ${record.pid} has ended`
      : paint('yellow', `process ${record.pid} did not end by itself and was killed`)
  )
}

async function restart({ timeout, ...flags }: StopFlags): Promise<void> {
  const { recordsOfUser, chooseRoot, startServer } = await import('./daemon-server.ts')
  const { stopBackground } = await import('../background/background.ts')
  const { readSettings } = await import('../setup/roots.ts')
  const root = await chooseRoot(flags)
  const record = root === undefined ? undefined : recordsOfUser().read(root)
  if (record === undefined) throw new Error('no server here was started by daemon start: nothing to restart')
  const { args, token, roots } = record
  const config = args[args.indexOf('--config') + 1]
  // Checked before the old server is stopped: it keeps running if the new one could not start.
  const settings = readSettings(roots, args.includes('--config') ? config : undefined)
  await stopBackground(record, timeout * 1000)
  const [, logFile] = args.includes('--log-file') ? args.slice(args.lastIndexOf('--log-file')) : []
  describe(await startServer({ settings, args, token, logFile }))
}

function describe({ url, record, wasRunning, hasOtherFlags = false }: Running): void {
  const who = record === undefined ? 'a server that was not started by daemon start' : `process ${record.pid}`
  print(`${wasRunning ? 'already running' : 'running'}: ${paint('green', url)} (${who})`)
  if (hasOtherFlags)
    print(paint('yellow', 'it keeps the flags that it was started with: to use these, daemon stop, then daemon start'))
  if (record?.log_file !== undefined && !wasRunning) print(`log: ${record.log_file}`)
}

async function status(flags: TreeFlags): Promise<void> {
  const { chooseRoot, treeStatus } = await import('./daemon-server.ts')
  const root = await chooseRoot(flags)
  const found = root === undefined ? undefined : await treeStatus(root, flags.config)
  if (found?.running !== true) process.exitCode = notRunningCode
  if (flags.json) return printJson(found ?? { running: false })
  if (found === undefined || !found.running) {
    print(`${root ?? 'no tree is named (--dir <folder>)'}: ${paint('yellow', 'not running')}`)
    return
  }
  print(
    `${paint('green', 'running')}: process ${found.pid}, ${found.started_by_daemon ? 'started by daemon start' : 'not started by daemon start'}`
  )
  print(`url: ${found.url ?? 'none, it serves only standard input'}`)
  for (const root of found.roots) print(`root: ${root}`)
  if (found.health !== null) print(`health: ${paint(healthStyles[found.health] ?? 'red', found.health)}`)
  print(`up for: ${Math.round(found.uptime_seconds)} s`)
  if (found.log_file !== null) print(`log: ${found.log_file}`)
}

async function logs({ follow, lines, json, ...flags }: LogFlags): Promise<void> {
  const { chooseRoot, logPathOfTree } = await import('./daemon-server.ts')
  const { readLastLines, followLog } = await import('../logs/read-log.ts')
  const { toReadableLine } = await import('./log-line.ts')
  const path = logPathOfTree(await chooseRoot(flags), flags.config)
  const isRaw = json === true || !process.stdout.isTTY
  const show = (line: string) => print(isRaw ? line : toReadableLine(line))
  // A reader that stops reading, such as head, ends this, too.
  process.stdout.on('error', () => process.exit(0))
  const { lines: last, bytesRead } = readLastLines(path, lines)
  if (last.length === 0 && !follow) throw new Error(`${path} has no lines yet`)
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopped.abort())
  last.forEach(show)
  if (!follow) return
  for await (const line of followLog(path, bytesRead, stopped.signal)) show(line)
}

/** Relative paths mean the current folder, in which the server does not run. */
function toAbsolute([flag, value]: readonly [string, string]): string[] {
  const isPath =
    flag === '--dir' || flag === '--known-as' || flag === '--config' || (flag === '--log-file' && value !== 'auto')
  return [flag, isPath ? resolve(value) : value]
}
