// A process stands still (SIGSTOP) in the middle of becoming the authority, or of leaving: never two serve the tree, and callers are told which process to stop.
import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { cannotInject, stopAfterCall } from '../../fixtures/inject.ts'
import { isFull } from '../../fixtures/length.ts'
import { call, own } from '../../fixtures/processes.ts'
import { startStdio, type StdioProgram } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

t.setTimeout(900_000)

type Step = readonly [call: string, when: number]

/** System calls by which a process locks, says who it is, listens, begins a journal, and takes all of that back; the first few of each. */
const steps: readonly Step[] = [
  'fcntl',
  'ftruncate',
  'pwrite64',
  'bind',
  'listen',
  'rename',
  'unlink',
  'shutdown'
].flatMap((call) => [1, 2, 3].map((when) => [call, when] as const))

function windowOn(t: Test, tree: Tree): StdioProgram {
  return startStdio(t, ['--transport', 'stdio', '--dir', tree.root], {
    environment: {
      ASYNC_CRUD_MCP_DAEMON__AUTHORITY_TIMEOUT_SECONDS: '0.4',
      ASYNC_CRUD_MCP_DAEMON__STOP_TIMEOUT_SECONDS: '250',
      ASYNC_CRUD_MCP_LOCKS__RECONNECT_GRACE_SECONDS: '600'
    }
  })
}

/** @returns false if it came to no such step */
const stopAt = (program: StdioProgram, [name, when]: Step, act: () => Promise<unknown>) =>
  stopAfterCall(program.process.pid as number, name, when, act)

const take = (agent: string) => ({ filepaths: ['f'], agent_id: agent })

async function pidOf(program: StdioProgram): Promise<number> {
  return (await call(program, 'get_server_info', {}))['server'].authority_pid as number
}

/** Until the tree has an authority that answers. */
async function insist(program: StdioProgram, name: string, input: object): Promise<Answer> {
  for (;;) {
    const answer = await call(program, name, input)
    if (answer['error_code'] !== 'OVERLOADED') return answer
  }
}

/** What another process is answered while the first one stands still: by the tree, or with the process to stop. */
function checkAnswer(t: Test, answer: Answer, { process }: StdioProgram, message: string): void {
  if (answer['error_code'] !== 'OVERLOADED') return void t.match(answer, { status: 'ok' }, message)
  const named = `^Process ${process.pid}, which .* does not answer.*stop that process`
  // Right after it has taken the lock, before it has said who it is.
  const unnamed = '^The process, which .* does not answer.*stop that process.*fuser .*authority.lock'
  t.match(answer, { message: new RegExp(`${named}|${unnamed}`) }, message)
}

t.test('stopped while it becomes the authority', { skip: cannotInject }, async (t) => {
  let reached = 0
  for (const step of isFull ? steps : [steps[0] as Step]) {
    const tree = makeTree(t, { f: 'one' })
    // As a process leaves it that was killed.
    tree.write(
      `${own}/authority.lock`,
      JSON.stringify({ root: tree.root, tree: tree.root, pid: spawnSync('true').pid })
    )
    const [first, second] = [windowOn(t, tree), windowOn(t, tree)]
    await Promise.all([first.call('get_server_info'), second.call('get_server_info')])
    let taken: Promise<Answer> | undefined
    const begin = () => (taken = call(first, 'lock_try', take('ann')))
    if (await stopAt(first, step, begin)) {
      reached += 1
      checkAnswer(t, await call(second, 'async_read', { path: 'f' }), first, step.join(' '))
      first.process.kill('SIGCONT')
    }
    const answers = await Promise.all([taken, insist(second, 'lock_try', take('bob'))])
    const holders = answers.filter((answer) => answer?.['all_acquired'] === true)
    t.equal(holders.length, 1, `${step.join(' ')}: one of them holds the file`)
    t.equal(await pidOf(first), await pidOf(second), `${step.join(' ')}: one authority`)
    await Promise.all([first.end('SIGKILL'), second.end('SIGKILL')])
  }
  t.ok(reached >= (isFull ? 8 : 1), `stopped at ${reached} steps`)
})

t.test('stopped while it leaves', { skip: cannotInject }, async (t) => {
  let reached = 0
  for (const step of isFull ? steps : [['unlink', 1] as const]) {
    const tree = makeTree(t, { f: 'one' })
    const [first, second, third] = [windowOn(t, tree), windowOn(t, tree), windowOn(t, tree)]
    await insist(first, 'async_read', { path: 'f' })
    const [lease] = (await insist(second, 'lock_try', take('ann')))['results'] as Answer[]
    await third.call('get_server_info')
    let ended: ReturnType<StdioProgram['end']> | undefined
    if (await stopAt(first, step, () => (ended = first.end('SIGTERM')))) {
      reached += 1
      for (const other of [second, third])
        checkAnswer(t, await call(other, 'async_read', { path: 'f' }), first, step.join(' '))
      first.process.kill('SIGCONT')
    }
    t.match(await ended, { code: 0 }, step.join(' '))
    const { fencing_token } = lease as Answer
    t.match(await insist(third, 'lock_try', take('bob')), { results: [{ acquired: false, holder: 'ann' }] })
    t.match(await insist(second, 'lock_status', take('ann')), { results: [{ held_by_me: true, fencing_token }] })
    t.equal(await pidOf(second), await pidOf(third), `${step.join(' ')}: one authority`)
    await Promise.all([second.end('SIGKILL'), third.end('SIGKILL')])
  }
  t.ok(reached >= (isFull ? 4 : 1), `stopped at ${reached} steps`)
})
