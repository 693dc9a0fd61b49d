// FES 4.1 for start-up and stop: the real program against a bare process that listens with node:http.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { programPath } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { withOwner } from '../owner.ts'
import type { Row } from '../table.ts'
import { elapsedMs, trialRow, type Round } from '../load/trials.ts'

const rounds = 11

const bareProgram = `
  const server = require('node:http').createServer((request, response) => response.end())
  server.listen(0, '127.0.0.1', () => console.error('listening on', server.address().port))
  process.once('SIGTERM', () => server.close())
`

/** From the start of the process until it listens, and from SIGTERM until it has ended. */
export function lifeRows(): Promise<Row[]> {
  return withOwner(async (owner) => {
    const { root } = makeTree(owner)
    const starts: Round[] = []
    const stops: Round[] = []
    for (let round = 0; round < rounds; round += 1) {
      const floor = await startAndStop(['-e', bareProgram])
      const ours = await startAndStop([programPath, '--dir', root])
      starts.push({ floor: [floor.startMs], ours: [ours.startMs] })
      stops.push({ floor: [floor.stopMs], ours: [ours.stopMs] })
    }
    return [
      trialRow({ what: 'start-up', transport: 'REST', targetMs: 100, rounds: starts }),
      trialRow({ what: 'stop', transport: 'REST', targetMs: 2000, rounds: stops })
    ]
  })
}

async function startAndStop(args: readonly string[]): Promise<{ startMs: number; stopMs: number }> {
  const start = performance.now()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ASYNC_CRUD_MCP_CONFIG: '' },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const ended = once(child, 'exit')
  let said = ''
  for await (const part of child.stderr) {
    said += String(part)
    if (said.includes('listening on')) break
  }
  const startMs = performance.now() - start
  const stopMs = await elapsedMs(() => {
    child.kill('SIGTERM')
    return ended
  })
  return { startMs, stopMs }
}
