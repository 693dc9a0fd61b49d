// npm run demo: agents and a person on a tree of their own, the board that shows them, and nothing left of it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Answer } from '../fixtures/clients.ts'
import { until } from '../fixtures/until.ts'
import { installed } from '../../src/support/installation.ts'

t.test('the demo shows agents and a person at work, and Ctrl-C leaves nothing of it', async (t) => {
  const child = spawn(process.execPath, [installed('dist/scripts/demo.js'), '--no-open'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGTERM'))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  await until(() => lines.length === 2)
  const [, board = ''] = /(http:\S+)/.exec(lines[0] ?? '') ?? []
  const [, folder = ''] = /work in (\S+)\./.exec(lines[1] ?? '') ?? []
  t.ok(existsSync(folder))
  t.equal((await fetch(board)).status, 200)
  const read = async (path: string) => (await (await fetch(new URL(path, board))).json()) as Answer
  await until(async () => (await read('/activity'))['agents'].length === 9)
  await until(async () => (await read('/locks'))['counts'].leases > 0)
  const names = ((await read('/activity'))['agents'] as Answer[]).map(({ agent_id }) => agent_id as string)
  t.equal(names.filter((name) => /^claude-code\/[\da-f-]{36}(\/\w+)?$/.test(name)).length, 6, 'named as hooks do')
  const ended = once(child, 'exit')
  child.kill('SIGINT')
  t.strictSame(await ended, [0, null])
  t.notOk(existsSync(folder), 'the folder has gone')
  // A server of another test may have its port by now, and agents of its own.
  const left = await read('/activity').catch(() => undefined)
  const still = ((left?.['agents'] ?? []) as Answer[]).filter(({ agent_id }) => names.includes(agent_id as string))
  t.strictSame(still, [], 'the server has ended')
})
