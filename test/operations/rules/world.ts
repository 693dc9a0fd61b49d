// The servers of the table of rules, each started when the first cell asks for it, and how the table calls them.
import { chownSync } from 'node:fs'
import type { PartialConfig } from '../../../src/config/config.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { nobody, programAs } from '../../fixtures/users.ts'

export interface HttpAnswer {
  readonly status: number
  readonly text: string
  /** The body, if it is JSON; else empty. */
  readonly body: Answer
  readonly headers: Headers
}

export interface World {
  readonly tree: Tree
  /** True if each change needs a lease. */
  readonly needsLeases: boolean
  /** True if no operation may change its files. */
  readonly isGuarded: boolean
  /** As another program does, without the server. */
  write(name: string, content: Buffer): void
  call(agent: string, name: string, input: object): Promise<Answer>
  http(method: string, path: string, headers: Record<string, string>, body?: string | Buffer): Promise<HttpAnswer>
}

interface Owner {
  teardown(fn: () => unknown): void
}

const isRoot = process.getuid?.() === 0

/** Of the world `small`. */
export const smallBytes = 600

const worlds = {
  plain: {},
  required: { locks: { enforcement: 'required' } },
  refusing: { crud: { hardlinks: 'refuse' } },
  small: { crud: { max_file_size_bytes: smallBytes } },
  /** No operation may change the files of the table: they are changed by other programs alone. */
  guarded: { crud: { protected: ['f*.txt'] } },
  /** Its cache has no room for anything. */
  forgetful: { crud: { base_cache_bytes: 0 } },
  /** A process of another user than root, to which the modes of files matter. */
  humble: {}
} satisfies Record<string, PartialConfig>
export type WorldName = keyof typeof worlds

/** A call waits for nothing, and nothing is seen before a call looks at it. */
const common = {
  crud: { durability: 'rename', default_timeout: 0 },
  locks: { native_wait_seconds: 0 },
  watcher: { enabled: false }
} satisfies PartialConfig

export function createWorlds(t: Owner): (name: WorldName) => Promise<World> {
  const started = new Map<WorldName, Promise<World>>()
  return (name) => {
    const world = started.get(name) ?? openWorld(t, name)
    started.set(name, world)
    return world
  }
}

async function openWorld(t: Owner, name: WorldName): Promise<World> {
  const tree = makeTree(t)
  const { url } = name === 'humble' ? await startHumble(t, tree) : await startServer(t, tree.root, settingsOf(name))
  async function http(method: string, path: string, headers: Record<string, string>, body?: string | Buffer) {
    const response = await fetch(`${url}/${path}`, { method, headers, ...(body !== undefined && { body }) })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    const { status, headers: answered } = response
    return { status, text, body: isJson ? (JSON.parse(text) as Answer) : {}, headers: answered }
  }
  return {
    tree,
    needsLeases: name === 'required',
    isGuarded: name === 'guarded',
    http,
    write(file, content) {
      tree.write(file, content)
      if (name === 'humble' && isRoot) chownSync(tree.path(file), nobody, nobody)
    },
    async call(agent, operation, input) {
      const headers = { 'content-type': 'application/json', 'x-agent-id': agent }
      return (await http('POST', operation, headers, JSON.stringify(input))).body
    }
  }
}

function settingsOf(name: WorldName): PartialConfig {
  const { crud = {}, locks = {} }: PartialConfig = worlds[name]
  return { ...common, crud: { ...common.crud, ...crud }, locks: { ...common.locks, ...locks } }
}

/** Root may write everything. */
async function startHumble(t: Owner, tree: Tree): Promise<{ readonly url: string }> {
  if (isRoot) chownSync(tree.root, nobody, nobody)
  const environment = {
    HOME: tree.root,
    ASYNC_CRUD_MCP_CRUD__DURABILITY: common.crud.durability,
    ASYNC_CRUD_MCP_CRUD__DEFAULT_TIMEOUT: '0',
    ASYNC_CRUD_MCP_WATCHER__ENABLED: 'false'
  }
  return startProgram(t, ['--dir', tree.root], environment, isRoot ? programAs(nobody) : undefined)
}
