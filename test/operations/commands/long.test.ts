// A change does not wait for the end of a long command.
import t from 'tap'
import { content, startHooks } from '../../fixtures/native-session.ts'
import { until } from '../../fixtures/until.ts'

t.test('after ten seconds a change goes out, as of the command or of somebody else', async (t) => {
  const { tree, session, history } = await startHooks(t)
  const anna = session('anna')
  await anna.read(tree.path('a.txt'), content)
  await anna.before('Bash', { command: './long' })
  tree.write('a.txt', `${content}more\n`)
  t.equal((await history('a.txt')).length, 1, 'it waits')
  const began = performance.now()
  await until(async () => (await history('a.txt')).length === 2)
  t.ok(performance.now() - began > 8000)
  t.match(await history('a.txt'), [{ attribution: 'one_of', agents: ['claude-code/anna', 'external'] }, {}])
})
