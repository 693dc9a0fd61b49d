// The background server of a tree for the commands: which tree is meant, how to start the server, its condition.
import { realpathSync } from 'node:fs'
import {
  createBackgroundRecords,
  type BackgroundRecord,
  type BackgroundRecords
} from '../background/background-records.ts'
import { isBackgroundRunning, startInBackground, stopBackground, urlOf } from '../background/background.ts'
import { askHealth } from '../background/probe-server.ts'
import { logPathOf } from '../logs/log-files.ts'
import { paths } from '../../support/user-paths.ts'
import { findServer } from '../../tree/state/state-file.ts'
import { makeFolders } from '../setup/folders.ts'
import { mainPath } from '../../support/installation.ts'
import { nodePath } from '../setup/own-program.ts'
import { readSettingsIfRight, type CommandSettings } from '../setup/roots.ts'
import { journalOfUser } from '../setup/user.ts'
import { showProgress } from './progress.ts'

export interface Running {
  readonly url: string
  /** Undefined for a server that `daemon start` has not started. */
  readonly record: BackgroundRecord | undefined
  readonly wasRunning: boolean
  /** True if it was started with other flags than are asked for now. */
  readonly hasOtherFlags?: boolean
}

export interface StartRequest {
  readonly settings: CommandSettings
  /** Of `serve`, absolute, without the token and the transport. */
  readonly args: readonly string[]
  /** From the command line. */
  readonly token: string | undefined
  /** From the command line. */
  readonly logFile: string | undefined
}

export interface TreeStatus {
  readonly running: boolean
  readonly root: string
  readonly roots: readonly string[]
  readonly pid: number | null
  readonly url: string | null
  /** Null if nothing can be asked. */
  readonly health: string | null
  readonly uptime_seconds: number
  readonly log_file: string | null
  readonly started_by_daemon: boolean
}

export function recordsOfUser(): BackgroundRecords {
  return createBackgroundRecords(paths.dataFolder)
}

/** @throws Error if it does not start */
export async function startServer({ settings, args, token, logFile }: StartRequest): Promise<Running> {
  const [first] = settings.roots
  if (first === undefined) throw new Error('no root: pass --dir <folder>, or set crud.base_directories')
  const root = realpathSync.native(first)
  const records = recordsOfUser()
  const log = logFile ?? settings.logFile ?? 'auto'
  const flags = [...args, ...(args.includes('--log-file') ? [] : ['--log-file', log])]
  const running = findRunning(root, records)
  if (running !== undefined) return refuseOthers(running, settings.roots, args.length > 0 ? flags : undefined)
  const journal = journalOfUser()
  journal.recordFolders([...makeFolders(paths.dataFolder, 0o700), ...makeFolders(paths.logFolder, 0o700)])
  journal.recordRoots([root])
  const progress = showProgress(`starting the server of ${root}`)
  try {
    const started = await startInBackground(
      {
        command: [nodePath(), mainPath, 'serve', '--in-background', '--transport', 'http'],
        args: flags,
        root,
        roots: settings.roots,
        token,
        healthToken: token ?? settings.token,
        logFile: logPathOf(log)
      },
      records
    )
    return { ...started, wasRunning: false }
  } finally {
    progress.end()
  }
}

/** A running server keeps its roots and flags: other roots would not be served, and other flags would not count. */
function refuseOthers(running: Running, roots: readonly string[], flags: readonly string[] | undefined): Running {
  const { record } = running
  if (record === undefined) return running
  const [own, asked] = [record.roots, roots].map((list) => list.map((root) => realpathSync.native(root)).join(', '))
  if (own !== asked)
    throw new Error(`process ${record.pid} serves this tree with the roots ${own}, not ${asked}: daemon stop it first`)
  return { ...running, hasOtherFlags: flags !== undefined && record.args.join('\0') !== flags.join('\0') }
}

/** Any server that clients reach over HTTP: a second one would only relay to it. */
function findRunning(root: string, records: BackgroundRecords): Running | undefined {
  const record = records.read(root)
  if (record !== undefined && isBackgroundRunning(record)) {
    const url = urlOf(record)
    if (url !== undefined) return { url, record, wasRunning: true }
    throw new Error(`process ${record.pid} is starting, or cannot be reached: see daemon status and daemon logs`)
  }
  const state = findServer(root)
  // Nothing says whether one outside of this container runs.
  if (state === undefined || state.url === null || state.project.root !== root || state.is_outside) return undefined
  return { url: state.url, record: undefined, wasRunning: true }
}

/**
 * The tree that is meant: the named one, else the configured one, else the only one that has a background server.
 * @returns its first root, as a real path; undefined if nothing names one
 * @throws Error if several have one
 */
export async function chooseRoot({ dir, config }: { dir?: string; config?: string }): Promise<string | undefined> {
  const [named] = readSettingsIfRight(dir === undefined ? undefined : [dir], config).roots
  if (named !== undefined) return realpathSync.native(named)
  const records = recordsOfUser().list()
  const running = records.filter(isBackgroundRunning)
  // If no server runs, one that has ended by itself is meant: for its log, or to start it again.
  const [meant, ...others] = running.length > 0 ? running : records
  if (others.length > 0)
    throw new Error(`several servers run: name one with --dir (${records.map(({ root }) => root).join(', ')})`)
  return meant?.root
}

/** Stops the background server of these roots, if there is one. */
export async function stopBackgroundOf([first]: readonly string[]): Promise<void> {
  const root = first === undefined ? undefined : realpathSync.native(first)
  const record = root === undefined ? undefined : recordsOfUser().read(root)
  if (root === undefined || record === undefined) return
  await stopBackground(record)
  recordsOfUser().remove(root)
}

export async function treeStatus(root: string, config?: string): Promise<TreeStatus> {
  const { token, logFile } = readSettingsIfRight([], config)
  const record = recordsOfUser().read(root)
  const isOurs = record !== undefined && isBackgroundRunning(record)
  const found = findServer(root)
  const state = found?.project.root === root ? found : undefined
  const url = isOurs ? (urlOf(record) ?? null) : (state?.url ?? null)
  const startedAt = isOurs ? record.started_at : state?.started_at
  return {
    running: isOurs || state !== undefined,
    root,
    roots: isOurs ? record.roots : [root],
    pid: isOurs ? record.pid : (state?.pid ?? null),
    url,
    health: url === null ? null : (await askHealth(url, record?.token ?? token)).state,
    uptime_seconds: startedAt === undefined ? 0 : Math.floor((Date.now() - Date.parse(startedAt)) / 100) / 10,
    log_file: isOurs ? (record.log_file ?? record.output_file) : (logPathOf(logFile) ?? null),
    started_by_daemon: isOurs
  }
}

/** The log of the background server, else the path that it would have. */
export function logPathOfTree(root: string | undefined, config?: string): string {
  const record = root === undefined ? undefined : recordsOfUser().read(root)
  return record?.log_file ?? logPathOf(readSettingsIfRight([], config).logFile ?? 'auto') ?? ''
}
