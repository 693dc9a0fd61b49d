// The servers compared: how a user starts each, and how each is asked for the same work.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { programPath } from '../../test/fixtures/server.ts'
import { counter, counterPattern } from '../load/subject.ts'
import { packageFile } from './packages.ts'

export const works = ['read', 'edit', 'list'] as const
export type Work = (typeof works)[number]

export interface Call {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** The calls of one worker; the answer before may decide the next. */
export interface Calls {
  next(): Call
  /** @param text of the answer, or its whole line */
  take(text: string): void
}

export interface PeerServer {
  readonly name: string
  /** What it takes part in. */
  readonly works: readonly Work[]
  /** @param home a fresh folder for what it keeps of its own */
  command(root: string, home: string): { readonly args: string[]; readonly env: Record<string, string> }
  readonly calls: Readonly<Record<Work, (path: string) => Calls>>
}

const same = (name: string, input: (path: string) => Record<string, unknown>) => {
  return (path: string): Calls => ({ next: () => ({ name, arguments: input(path) }), take: () => {} })
}

const ourCalls = {
  read: same('async_read', (path) => ({ path })),
  edit: ourEdits,
  list: same('list_files', () => ({}))
}

export const ours: PeerServer = {
  name: 'this server',
  works: ['read', 'edit'],
  command: (root) => ({
    args: [programPath, '--transport', 'stdio', '--dir', root],
    env: { ASYNC_CRUD_MCP_CONFIG: '' }
  }),
  calls: ourCalls
}

const oursNotSynced: PeerServer = {
  ...ours,
  name: 'this server, durability: rename',
  works: ['edit'],
  command(root, home) {
    const { args, env } = ours.command(root, home)
    return { args, env: { ...env, ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename' } }
  }
}

/** Over MCP, `list_files` is offered only where it is asked for. */
const oursForFolders: PeerServer = {
  ...ours,
  name: `${ours.name}, --tools all,files`,
  works: ['list'],
  command(root, home) {
    const { args, env } = ours.command(root, home)
    return { args: [...args, '--tools', 'all,files'], env }
  }
}

export const reference: PeerServer = {
  name: 'server-filesystem',
  works,
  command: (root) => ({
    args: [packageFile('@modelcontextprotocol/server-filesystem', 'dist/index.js'), root],
    env: {}
  }),
  calls: {
    read: same('read_text_file', (path) => ({ path })),
    edit: countingEdits('edit_file', (path, oldText, newText) => ({ path, edits: [{ oldText, newText }] })),
    list: same('list_directory_with_sizes', (path) => ({ path: dirname(path) }))
  }
}

const desktopCommander: PeerServer = {
  name: 'desktop-commander',
  works,
  command(root, home) {
    const config = join(home, '.claude-server-commander', 'config.json')
    write(config, JSON.stringify({ allowedDirectories: [root], telemetryEnabled: false }))
    // It would download a browser otherwise.
    write(join(home, '.cache', 'puppeteer', 'chrome', 'linux-1', 'chrome-linux64', 'chrome'), '')
    return {
      args: [packageFile('@wonderwhy-er/desktop-commander', 'dist/index.js'), '--no-onboarding'],
      env: { HOME: home, DESKTOP_COMMANDER_DISABLE_TELEMETRY: '1', DC_FLAG_URL: 'http://127.0.0.1:9/' }
    }
  },
  calls: {
    read: same('read_file', (path) => ({ path })),
    edit: countingEdits('edit_block', (file_path, old_string, new_string) => ({ file_path, old_string, new_string })),
    list: same('list_directory', (path) => ({ path: dirname(path), depth: 1 }))
  }
}

/** All that the targets name. */
export const targeted: readonly PeerServer[] = [ours, oursNotSynced, oursForFolders, reference]
export const servers: readonly PeerServer[] = [...targeted, desktopCommander]

const hashPattern = /"hash\\?":\\?"(sha256:[0-9a-f]{16,64})/

/** Each edit is made for the version that the answer before it named. */
function ourEdits(path: string): Calls {
  let hash = `sha256:${createHash('sha256').update(readFileSync(path)).digest('hex')}`
  const edits = countingEdits('async_update', (path, old_string, new_string) => ({
    path,
    expected_hash: hash,
    patches: [{ old_string, new_string }]
  }))(path)
  return { next: () => edits.next(), take: (text) => (hash = hashPattern.exec(text)?.[1] ?? '') }
}

/** One line of the file counts them, so that each is another one and the file keeps its size. */
function countingEdits(name: string, input: (path: string, old: string, next: string) => Record<string, unknown>) {
  return (path: string): Calls => {
    let count = Number(counterPattern.exec(readFileSync(path, 'utf8'))?.[0].slice('count '.length))
    return {
      next() {
        const old = counter(count)
        count += 1
        return { name, arguments: input(path, old, counter(count)) }
      },
      take: () => {}
    }
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode: 0o755 })
}
