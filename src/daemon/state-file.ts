// The state file: by it other processes find the server of a tree (DUAL 2.1).
import { realpathSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { isRunning, startOf } from './process-identity.ts'
import { parseServerState, urlOf, type ServerState } from './server-state.ts'
import { createStateDirectory } from './state-directory.ts'

interface Reachable {
  readonly transport: ServerState['transport']
  /** As bound; a wildcard stands for loopback. */
  readonly host: string
  readonly port: number
}

const fileName = '.mcp_server_state.json'
const clientHosts: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** @param root real path of the server's first root */
export function createStateFile(root: string) {
  const directory = createStateDirectory(root)
  const own = {
    pid: process.pid,
    started_at: new Date(performance.timeOrigin).toISOString(),
    process_start: startOf(process.pid)
  }

  /** Undefined where there is none, or none that can be believed. */
  function read(): ServerState | undefined {
    try {
      const text = directory.read(fileName)
      return text === undefined ? undefined : parseServerState(text)
    } catch {
      return undefined
    }
  }

  return {
    read,
    /** Names this process. @throws Error that says what is in the way */
    write({ transport, host: bound, port }: Reachable): void {
      const host = clientHosts[bound] ?? bound
      const state: ServerState = {
        version: '1.0.0',
        transport,
        port,
        host,
        path: '/mcp',
        url: urlOf(host, port),
        ...own,
        project: { name: basename(root), root }
      }
      directory.write(fileName, `${JSON.stringify(state, undefined, 2)}\n`, { isDurable: false })
    },
    /** Removes it where it still names this process. @throws Error that says what is in the way */
    removeOwn(): void {
      const state = read()
      if (state?.pid !== own.pid || state.started_at !== own.started_at || state.process_start !== own.process_start)
        return
      directory.remove(fileName)
    }
  }
}

/** The running server whose state file stands in the folder or nearest above it. */
export function findServer(folder: string): ServerState | undefined {
  let here = realFolder(resolve(folder))
  for (;;) {
    const state = createStateFile(here).read()
    if (state !== undefined && isRunning(state.pid, state.process_start)) return state
    const above = dirname(here)
    if (above === here) return undefined
    here = above
  }
}

/** The real path of the deepest folder on the way that exists. */
function realFolder(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    const above = dirname(folder)
    return above === folder ? folder : realFolder(above)
  }
}
