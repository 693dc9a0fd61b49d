// A process of one contender or several: they play plan after plan until they are told to finish, or killed.
import { createRandom } from '../../fixtures/random.ts'
import { connectContender, type ContenderClient } from './client.ts'
import { Contender, Finished } from './contender.ts'
import { createJournal } from './journal.ts'
import { play } from './plans.ts'
import type { Command, ContenderMessage, ContenderTask } from './protocol.ts'

const tasks = JSON.parse(process.argv[2] ?? '') as ContenderTask[]
const commands = new Set<Command>()
let wake = () => {}
process.on('message', (command: Command) => {
  commands.add(command)
  if (command === 'finish') for (const contender of contenders) contender.finish()
  wake()
})
process.once('disconnect', () => process.exit(1))

const contenders = await Promise.all(tasks.map(connect))
send('ready')
while (!commands.has('go')) await new Promise<void>((resolve) => (wake = resolve))
await Promise.all(contenders.map(playUntilFinished))
process.send?.('done' satisfies ContenderMessage, () => process.exit(0))

async function connect(task: ContenderTask): Promise<Contender> {
  const { transport, url, identity, id } = task
  const client = await connectContender(transport, url, identity === 'header' ? id : undefined)
  await warmUp(id, client)
  return new Contender(task, client, createJournal(task.journal), createRandom(task.seed))
}

async function playUntilFinished(contender: Contender): Promise<void> {
  try {
    for (;;) await play(contender)
  } catch (error) {
    if (!(error instanceof Finished)) throw error
  }
  await contender.leave()
}

/** The first call of each kind is slow on both sides; no circle should have to wait for it. On a file of its own. */
async function warmUp(id: string, client: ContenderClient): Promise<void> {
  const path = `warm-up-of-${id}.txt`
  const lease = { filepaths: [path], ttl_seconds: 1, agent_id: id }
  await client.call('lock_try', lease)
  const { hash } = await client.call('async_write', { path, content: '1\n', agent_id: id })
  const patches = [{ old_string: '1', new_string: '2' }]
  await client.call('async_update', { path, expected_hash: hash, patches, agent_id: id })
  await client.call('async_append', { path, content: '3\n', agent_id: id })
  await client.call('async_read', { path, agent_id: id })
  await client.call('lock_wait', lease)
  await client.call('lock_release', { filepaths: [path], agent_id: id })
}

function send(message: ContenderMessage): void {
  process.send?.(message)
}
