// What the log keeps of a command: its author over a restart, and its text without secrets.
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { maskSecrets } from '../../../src/engine/commands/mask-secrets.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { startOneServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

t.test('a restart keeps author, command, agents and attribution', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n' })
  const settings = { persistence: { enabled: true } }
  const first = await startOneServer(t, tree.root, settings)
  const bob = await connect(t, 'rest', first.url, 'bob')
  for (const path of ['a.txt', 'b.txt']) await bob.call('async_read', { path })
  const report = async (event: string, agent: string, command: string) => {
    const body = JSON.stringify({ event, command: ['sh', '-c', command], cwd: tree.root, session: 's', id: agent })
    const headers = { 'content-type': 'application/json', 'x-agent-id': agent }
    await fetch(`${first.url}/hooks/run`, { method: 'POST', headers, body })
  }
  await report('before', 'ann', 'echo two >> a.txt')
  execFileSync('sh', ['-c', 'echo two >> a.txt'], { cwd: tree.root })
  await report('after', 'ann', 'echo two >> a.txt')
  for (const agent of ['ann', 'carl']) await report('before', agent, './unknown')
  tree.write('b.txt', 'two\n')
  for (const agent of ['ann', 'carl']) await report('after', agent, './unknown')
  const historyOf = async (url: string) => {
    const reader = await connect(t, 'rest', url, 'reader')
    const answers = [
      await reader.call('async_history', { path: 'a.txt' }),
      await reader.call('async_history', { path: 'b.txt' })
    ]
    return answers.map((answer) => (answer['versions'] as Answer[])[0])
  }
  const before = await historyOf(first.url)
  t.match(before, [
    { agent_id: 'ann', command: 'echo two >> a.txt', attribution: 'certain' },
    { agent_id: 'ann', command: './unknown', attribution: 'one_of', agents: ['ann', 'carl'] }
  ])
  await first.app.close()
  const second = await startOneServer(t, tree.root, settings)
  t.strictSame(await historyOf(second.url), before)
})

t.test('what looks like a secret is masked, and the text is short', (t) => {
  const cases: readonly [string, string][] = [
    ['API_KEY=abc123 npm run x', 'API_KEY=*** npm run x'],
    ["export DB_PASSWORD='a b' && ls", 'export DB_PASSWORD=*** && ls'],
    ['curl -H "Authorization: Bearer abcdef123456" x.org', 'curl -H "Authorization: ***" x.org'],
    ['git clone https://ann:secret@x.org/y', 'git clone https://ann:***@x.org/y'],
    ['echo ghp_0123456789abcdefghij0123456789', 'echo ***'],
    ['tool --token abc --name x', 'tool --token *** --name x'],
    ['sed -i s/monkey=1/key=2/ a.txt', 'sed -i s/monkey=1/key=2/ a.txt'],
    ['PWD=/x make tokens', 'PWD=/x make tokens']
  ]
  for (const [given, masked] of cases) t.equal(maskSecrets(given), masked)
  t.equal(maskSecrets('x'.repeat(100_000)).length, 500)
  t.end()
})
