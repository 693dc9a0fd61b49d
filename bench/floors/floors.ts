// Starts the floors and measures them.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { EditingTask } from './floor-editing.ts'
import type { FilesTask } from './floor-files.ts'
import type { Owner } from '../owner.ts'

export interface Floors {
  /** File work per second. */
  files(task: FilesTask): Promise<number>
  /** Where the empty route listens: `POST /<bytes>` answers that many. */
  readonly routeUrl: string
  readonly routePid: number | undefined
  /** How late the event loop of the empty route has been since the last time that this was asked: p99, in ms. */
  routeDelay(): Promise<number>
}

/** As many as there are connections: four, which is usual, would make the later ones wait. */
const syncsAtOnce = 64

export async function startFloors(owner: Owner): Promise<Floors> {
  const files = start(owner, 'floor-files.js', [], { UV_THREADPOOL_SIZE: String(syncsAtOnce) })
  const route = start(owner, 'floor-route.js')
  return {
    routeUrl: await urlOf(route),
    routePid: route.pid,
    async routeDelay() {
      route.kill('SIGWINCH')
      const [p99Ms] = (await once(route, 'message')) as [number]
      return p99Ms
    },
    async files(task) {
      files.send(task)
      const [perSecond] = (await once(files, 'message')) as [number]
      return perSecond
    }
  }
}

export type EditingFloor = (task: EditingTask) => Promise<number[]>

/** The bare work of the file-editing operations: how many milliseconds each piece of a task took. */
export function startEditingFloor(owner: Owner): EditingFloor {
  const child = start(owner, 'floor-editing.js')
  return async (task) => {
    child.send(task)
    const [latenciesMs] = (await once(child, 'message')) as [number[]]
    return latenciesMs
  }
}

/** An empty tool of the MCP SDK, at `/mcp`; any arguments, this many bytes of text. */
export async function startTool(owner: Owner, bytes: number): Promise<string> {
  return urlOf(start(owner, 'floor-tool.js', [String(bytes)]))
}

/** A plain file server on the folder, which does the bare work of the agents' calls. */
export async function startServerFloor(owner: Owner, root: string): Promise<{ url: string; process: ChildProcess }> {
  const child = start(owner, 'floor-server.js', [root], { UV_THREADPOOL_SIZE: String(syncsAtOnce) })
  return { url: await urlOf(child), process: child }
}

/** What a floor that listens says first. */
async function urlOf(child: ChildProcess): Promise<string> {
  const [url] = (await once(child, 'message')) as [string]
  return url
}

function start(
  owner: Owner,
  program: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {}
): ChildProcess {
  const env = { ...process.env, ...environment }
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, { env })
  owner.teardown(() => child.kill())
  return child
}
