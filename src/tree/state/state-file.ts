// The state file, by which other processes find the server of a tree (DUAL 2.1).
import { realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { projectName } from '../../support/project/name.ts'
import { startedAt } from '../../support/uptime.ts'
import { isRunning, startOf } from '../../support/process-identity.ts'
import { isSameFile } from '../../support/same-file.ts'
import { parseServerState, toClientHost, urlOf, type ServerState } from './server-state.ts'
import { createStateDirectory } from './state-directory.ts'

/** A process of a tree, and where clients reach it over HTTP, if they do. */
export interface Member extends Pick<ServerState, 'transport' | 'pid' | 'started_at' | 'process_start'> {
  /** As bound; a wildcard stands for loopback. */
  readonly host: string
  /** Null if it does not listen. */
  readonly port: number | null
}

const fileName = '.mcp_server_state.json'

/** Distinguishes this process from every other one. */
export const thisProcess = {
  pid: process.pid,
  started_at: startedAt,
  process_start: startOf(process.pid)
} as const

export type StateFile = ReturnType<typeof createStateFile>

/**
 * @param root real path of the root in which the file lies
 * @param roots real paths of all roots of its server, the first one first
 * @param directory the server's own folder below the root
 * @param knownAs other paths of the first root
 */
export function createStateFile(
  root: string,
  roots: readonly string[] = [root],
  directory = createStateDirectory(root),
  knownAs: readonly string[] = []
) {
  const [first = root] = roots
  let written: string | undefined

  return {
    /** Undefined if there is none, or none that can be believed. */
    read: (): ServerState | undefined => parseServerState(orUndefined(() => directory.read(fileName)) ?? ''),
    /** @throws Error that says what is in the way */
    write({ transport, host: bound, port, pid, started_at, process_start }: Member): void {
      const host = toClientHost(bound)
      const state: ServerState = {
        version: '1.0.0',
        transport,
        port,
        host,
        path: '/mcp',
        url: urlOf(host, port),
        pid,
        started_at,
        process_start,
        project: { name: projectName(first), root: first, roots, ...(knownAs.length > 0 && { known_as: knownAs }) }
      }
      const text = `${JSON.stringify(state, undefined, 2)}\n`
      directory.write(fileName, text, { isDurable: false })
      written = text
    },
    /** Whether it still contains what was last written here. */
    isInPlace(): boolean {
      return written !== undefined && orUndefined(() => directory.read(fileName)) === written
    },
    /** Removes it if it still is what was written here. @throws Error that says what is in the way */
    removeOwn(): void {
      if (written !== undefined && directory.read(fileName) === written) directory.remove(fileName)
      written = undefined
    }
  }
}

/** What is no answer. */
interface Passed {
  /** Called with each state that names a process which does not run any more. */
  readonly onStale?: (state: ServerState) => void
  /** Called for each state of a server that has this folder at another path, or had it before it was copied. */
  readonly onOther?: (root: string, here: string) => void
}

/** The server of a tree, as seen from a folder of it. */
export interface FoundServer extends ServerState {
  /** True if the server knows the folder by another path: it runs outside of the container, whose process ids and addresses are others. */
  readonly is_outside?: true
}

/**
 * The running server whose state file is in the folder or nearest above it. Of one outside of a container, the root is the folder here, and
 * nothing says whether it runs.
 */
export function findServer(folder: string, { onStale, onOther }: Passed = {}): FoundServer | undefined {
  let here = realFolder(resolve(folder))
  for (;;) {
    const state = createStateFile(here).read()
    if (state !== undefined) {
      const { pid, process_start, project } = state
      const isHere = isOf(state, here)
      if (isHere && isRunning(pid, process_start)) return state
      if (project.known_as?.includes(here) === true)
        return { ...state, project: { ...project, root: here }, is_outside: true }
      if (isHere) onStale?.(state)
      else onOther?.(project.root, here)
    }
    const above = dirname(here)
    if (above === here) return undefined
    here = above
  }
}

/** False for a file that was copied along with the tree of a server. A folder that is mounted twice has two paths. */
function isOf({ project: { roots } }: ServerState, folder: string): boolean {
  return roots.includes(folder) || roots.some((known) => isSameFolder(known, folder))
}

function isSameFolder(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return isSameFile(first, second)
}

/** The real path of the deepest existing folder on the way. */
function realFolder(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    const above = dirname(folder)
    return above === folder ? folder : realFolder(above)
  }
}
