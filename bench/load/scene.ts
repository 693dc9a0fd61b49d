// A fresh server over fresh files, and connections to it, for one part of the hot path.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TransportName } from '../../test/fixtures/clients.ts'
import { programPath, startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { until } from '../../test/fixtures/until.ts'
import { capture, type CapturedClient } from './capture.ts'
import type { Floors } from '../floors/floors.ts'
import type { Owner } from '../owner.ts'
import { roundMs, type Contest } from './rounds.ts'
import { sourceText } from '../sources.ts'
import { createSubject } from './subject.ts'

export const sizes = { '1 KB': 1024, '10 KB': 10_240, '1 MB': 1_048_576 }
export const connectionCounts = [1, 10, 50]

export interface SceneOptions {
  readonly operation: 'read' | 'update'
  readonly size: keyof typeof sizes
  readonly transport: TransportName
  readonly floors: Floors
  readonly form?: 'patch' | 'content'
}

export interface Scene {
  readonly url: string
  readonly pid: number | undefined
  readonly captures: Readonly<Record<'mcp-2026' | 'mcp-2025', CapturedClient>>
  /** Paths of the server's files, one for each connection. */
  readonly paths: readonly string[]
  /** This many connections, each with a file of its own, against the floors. @param floorMs how long the bare file work runs in a round */
  contest(connections: number, floorMs?: number): Promise<Contest & { readonly route: NonNullable<Contest['route']> }>
  /** How much later than asked for the server's event loop has run its timers since its start: p99, in ms. */
  loopDelay(): Promise<number>
  /** The same since the last time that this was asked. */
  recentDelay(): Promise<number>
}

const delayMark = 'loop delay p99 ms: '
const counterLine = '// count 0000000000\n'

/** A server for each transport, so that the delay of its event loop is that of this load. */
export async function startScene(owner: Owner, options: SceneOptions): Promise<Scene> {
  const { operation, size, transport, floors, form = 'patch' } = options
  const text = counterLine + sourceText(sizes[size] - counterLine.length)
  const { root } = makeTree(owner)
  const paths = makeFiles(join(root, 'ours'), text)
  const floorPaths = makeFiles(join(root, 'floor'), text)
  writeFileSync(join(root, 'ours', 'sample'), 'sample')
  const monitor = fileURLToPath(new URL('delay-monitor.js', import.meta.url))
  const args = ['--dir', join(root, 'ours'), '--max-size', '100']
  const { url, process: program, stderr } = await startProgram(owner, args, {}, ['--import', monitor, programPath])
  const captures = { 'mcp-2026': await captureCalls('mcp-2026', url), 'mcp-2025': await captureCalls('mcp-2025', url) }
  const idle = await readLoopDelay(url)
  return {
    url,
    pid: program.pid,
    captures,
    paths,
    async contest(connections, floorMs = roundMs) {
      const own = paths.slice(0, connections)
      const subject = { url, routeUrl: floors.routeUrl, transport, operation, form, paths: own, captures }
      const work = { operation, paths: floorPaths.slice(0, connections), ms: floorMs }
      return { ...(await createSubject(owner, subject)), files: () => floors.files(work) }
    },
    loopDelay: async () => Math.max(0, (await readLoopDelay(url)).p99 - idle.p50),
    async recentDelay() {
      const from = stderr.length
      program.kill('SIGWINCH')
      const find = () => stderr.slice(from).find((line) => line.startsWith(delayMark))
      await until(() => find() !== undefined)
      return Number(find()?.slice(delayMark.length))
    }
  }
}

function makeFiles(folder: string, text: string): string[] {
  mkdirSync(folder)
  return Array.from({ length: Math.max(...connectionCounts) }, (_, index) => {
    const path = join(folder, `file-${index}.ts`)
    writeFileSync(path, text)
    return path
  })
}

function captureCalls(era: 'mcp-2026' | 'mcp-2025', url: string): Promise<CapturedClient> {
  const path = 'sample'
  return capture(era, url, {
    async_read: { path },
    async_update: { path, expected_hash: `sha256:${'0'.repeat(64)}`, content: '' }
  })
}

async function readLoopDelay(url: string): Promise<{ p50: number; p99: number }> {
  const health = (await (await fetch(`${url}/health`)).json()) as { event_loop_delay_ms: { p50: number; p99: number } }
  return health.event_loop_delay_ms
}
