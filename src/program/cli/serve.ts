// Runs the service until it is stopped.
import { Console } from 'node:console'
import { setTimeout as delay } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { createApp } from '../../app.ts'
import type { ReloadOptions } from '../../../plugins/process/settings.ts'
import type { Config } from '../../config/config.ts'
import { openLog } from '../logs/open-log.ts'
import type { ClientStreams } from '../../transports/mcp/client-roots.ts'
import { isSilence } from '../../tree/coordinator/etcd-client.ts'
import { candidatePorts } from '../../support/ports.ts'
import { isErrno } from '../../errors.ts'
import { version } from '../../support/installation.ts'
import { toReadableLine } from './log-line.ts'
import { surviveLostTerminal } from './lost-streams.ts'

/** The stop may take this long in addition to the time that running operations get: seconds only where the machine is very busy. */
const stopMarginMs = 2000
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** The process raises these itself. A handler would return to the failed instruction, and be called again for ever. */
const faultSignals = ['SIGSEGV', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGABRT', 'SIGTRAP'] as const
const sameSignalMs = 500
const joinForHooksMs = 1000
const askAgainMs = 200
/** As many syncs of the disk can be under way at once: with the 4 threads that Node has, the later ones wait while the disk could take them. */
const threads = 16

export interface ServeOptions {
  readonly config: Config
  /** True if a flag or the environment names the port: then no other one is taken. */
  readonly isPortExplicit: boolean
  /** What the operator should know about the settings. */
  readonly warnings: readonly string[]
  /** Undefined if no configuration file is read. */
  readonly reload: ReloadOptions | undefined
  /** True if no source sets persistence.enabled. */
  readonly followsPersistence?: boolean
  /** Why these roots are served, if none was named. */
  readonly rootsFrom?: string | undefined
  /** Of the client, if they were read already. */
  readonly streams?: ClientStreams | undefined
}

export async function serve({
  config,
  isPortExplicit,
  warnings,
  reload,
  followsPersistence = false,
  rootsFrom,
  streams
}: ServeOptions): Promise<void> {
  // Node reads it when it first needs a thread, which is later.
  process.env['UV_THREADPOOL_SIZE'] ??= String(threads)
  const { transport } = config.daemon
  // Standard output belongs to JSON-RPC: the output of a dependency must not come between.
  if (transport !== 'http') globalThis.console = new Console(process.stderr)
  // The parent process may close standard error; then the log is lost, not the server.
  process.stderr.on('error', () => {})
  surviveLostTerminal()
  const app = await createApp({
    config,
    version,
    reload,
    followsPersistence,
    streams,
    answerHook: (harness, event) => answerHook(app, harness, event),
    logStream: openLog(config.daemon, readableOnTerminal(process.stderr)),
    onDisplaced: failDisplaced
  })
  const { stop, isStopping } = stopOnSignals(app, config.daemon.stop_timeout_seconds * 1000 + stopMarginMs)
  app.log.info({ version, transport, roots: app.files.roots.map(({ given }) => given) }, 'starting')
  for (const warning of warnings) app.log.warn(warning)
  if (rootsFrom !== undefined) app.log.info(`${rootsFrom}: serving ${config.crud.base_directories.join(', ')}`)
  if (app.files.roots.length === 0)
    app.log.warn(
      'crud.base_directories is empty, so every path is refused: name a root there, or start the server with --dir <folder>'
    )
  if (transport === 'stdio') {
    await app.ready()
    if (config.mcp.tools.includes('beside')) joinForHooks(app)
  } else {
    app.serverFacts.port = await listen(app, config, isPortExplicit)
    // On standard input this process owns nothing before the first call: clients start such a process for a look, and throw it away.
    await joinAtStart(app, config.daemon.authority_timeout_seconds * 1000, isStopping)
  }
  if (app.stdio === undefined) return
  await app.stdio.ended
  stop('stdin ended')
}

/** A busy etcd, or one that starts together with this host, is asked again until the limit. @throws what then keeps this process from the tree */
async function joinAtStart(app: FastifyInstance, limitMs: number, isStopping: () => boolean): Promise<void> {
  const end = performance.now() + limitMs
  for (let tries = 1; ; tries += 1) {
    try {
      await app.tree.join()
      return
    } catch (error) {
      if (isStopping()) return
      if (!(error instanceof Error && isSilence(error.cause)) || performance.now() >= end) throw error
      if (tries === 1)
        app.log.warn(
          `${error.message} This process asks again for ${limitMs / 1000} s (daemon.authority_timeout_seconds).`
        )
    }
    await delay(askAgainMs)
  }
}

/** As a hook program does, which finds the server of the file's own tree, and does not wait for one that hangs. */
async function answerHook(app: FastifyInstance, harness: string, event: string): Promise<string> {
  // A tree that cannot be joined in time is not served by this process: that is found out below.
  await Promise.race([app.tree.join().catch(() => {}), delay(joinForHooksMs, undefined, { ref: false })])
  const [{ answerEvent }, { optionsOfEnvironment }] = await Promise.all([
    import('../hook/answer-event.ts'),
    import('../hook/options.ts')
  ])
  const { json, failure } = await answerEvent(event, { ...optionsOfEnvironment(process.env), harness })
  if (failure !== undefined) app.log.warn({ harness }, failure)
  return json
}

/**
 * Hooks need a process that serves the tree, and beside them a model may work long before it calls one of our tools. A client
 * that starts the process for a look has ended it by then.
 */
function joinForHooks(app: FastifyInstance): void {
  const timer = setTimeout(() => {
    app.tree.join().catch((err: unknown) => app.log.warn({ err }, 'hooks are not served'))
  }, joinForHooksMs)
  timer.unref()
  void app.stdio?.ended.then(() => clearTimeout(timer))
}

/**
 * A signal, an uncaught failure and a caller of `stop` lead to one orderly stop within a time limit. A second signal ends the
 * process at once, unless it comes so soon that it is the first one: npm passes on the signal that the terminal has sent.
 * A hang-up is no impatience: the shell, npm or the terminal that the first one was meant for as well has ended sooner.
 */
function stopOnSignals(app: FastifyInstance, limitMs: number) {
  let isStopping = false
  let signalledAt: number | undefined
  const skip = [...stopSignals, ...faultSignals]
  const grace = closeWithGrace({ delay: limitMs, logger: false, skip }, async ({ err, signal }) => {
    if (err instanceof Displaced) app.log.fatal(err.message)
    else if (err !== undefined) app.log.fatal({ err }, 'stopping after an unexpected failure')
    else if (signal !== undefined) app.log.info({ signal }, 'stopping')
    await app.close()
  })

  function stop(reason: string): void {
    if (isStopping) return
    isStopping = true
    app.log.info({ reason }, 'stopping')
    grace.close()
  }

  function onSignal(signal: string): void {
    const now = performance.now()
    const isRepeated = signalledAt !== undefined && now - signalledAt > sameSignalMs
    if (isRepeated && signal !== 'SIGHUP') process.exit(1)
    signalledAt ??= now
    stop(signal)
  }

  for (const signal of stopSignals) process.on(signal, onSignal)
  return { stop, isStopping: () => isStopping }
}

/** A person gets lines; a program gets JSON. */
function readableOnTerminal(stderr: NodeJS.WriteStream): { write(line: string): unknown } {
  return stderr.isTTY ? { write: (line) => stderr.write(`${toReadableLine(line.trimEnd(), stderr)}\n`) } : stderr
}

/** The locks and leases of this process are void. */
class Displaced extends Error {}

/** A failure like any other that cannot be caught. */
function failDisplaced(): void {
  setImmediate(() => {
    throw new Displaced(
      'another process has taken over the tree, or can: this one was stopped, or cut off from etcd or from its volume, for longer than its lease, or the folder .async-crud-mcp was removed; this process ends: start it again'
    )
  })
}

/** Binds instead of probing: a probe can lose the port before the bind. */
async function listen(
  app: FastifyInstance,
  { daemon: { host, port } }: Config,
  isPortExplicit: boolean
): Promise<number> {
  const candidates = isPortExplicit && port !== null ? [port] : candidatePorts(port)
  const [preferred] = candidates
  for (const candidate of candidates) {
    try {
      await app.listen({
        host,
        port: candidate,
        listenTextResolver: (url) => `listening on ${url}, MCP at ${url}/mcp, the board at ${url}/board`
      })
      if (candidate !== preferred)
        app.log.warn(
          { port: preferred, instead: candidate },
          `port ${preferred} is taken, this server is on ${candidate}`
        )
      return candidate
    } catch (error) {
      if (!isErrno(error, 'EADDRINUSE')) throw explainListen(error, host, candidate)
      if (isPortExplicit)
        throw new Error(`port ${port} is taken: stop what listens there, or choose another --port`, { cause: error })
    }
  }
  throw new Error(
    `no port from ${Math.min(...candidates)} to ${Math.max(...candidates)} is free: stop a server that is no longer needed, or name another port with --port`
  )
}

function explainListen(error: unknown, host: string, port: number): unknown {
  if (isErrno(error, 'ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EINVAL'))
    return new Error(
      `--host ${host} is not an address of this machine: leave it out for 127.0.0.1, or name 0.0.0.0 or an address of this machine (with --token)`,
      { cause: error }
    )
  if (isErrno(error, 'EACCES', 'EPERM'))
    return new Error(`port ${port} may not be used by this user: choose another with --port`, { cause: error })
  return error
}
