// How soon calls that wait come to their end: each against an ordinary call, or against what would have to be done otherwise.
import { once } from 'node:events'
import { connect, type TestClient } from '../../test/fixtures/clients.ts'
import { startProgram, type RunningProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { Bound } from './bound.ts'
import type { Owner } from '../owner.ts'
import { elapsedMs } from '../load/trials.ts'

/** Appends that wait when the program stops. */
const waiting = 180

interface Scene {
  readonly owner: Owner
  readonly root: string
  readonly program: RunningProgram
  readonly ann: TestClient
  readonly bob: TestClient
}

export async function waitBounds(owner: Owner): Promise<Bound[]> {
  const { root } = makeTree(owner, { a: 'one', b: 'one' })
  const program = await startProgram(owner, ['--dir', root])
  const [ann, bob] = [
    await connect(owner, 'rest', program.url, 'ann'),
    await connect(owner, 'rest', program.url, 'bob')
  ]
  const scene = { owner, root, program, ann, bob }
  return [leaving(scene), circle(scene), largeNote(scene), stop(scene), takeOver(scene)]
}

/** From the abort of a waiting write until the read behind it is answered, under a shared lease. */
function leaving({ program, ann, bob }: Scene): Bound {
  return {
    what: 'a caller that cancels leaves the queue, and the next one is answered',
    floor: 'a read',
    promised: 10,
    async measure() {
      const floor = await elapsedMs(() => ann.call('async_read', { path: 'a' }))
      await ann.call('lock_try', { filepaths: ['a'], mode: 'shared' })
      const controller = new AbortController()
      const write = bob.call('lock_wait', { filepaths: ['a'] }, { signal: controller.signal }).catch(() => undefined)
      await untilWaiting(program, 1)
      const behind = bob.call('lock_wait', { filepaths: ['a'], mode: 'shared', agent_id: 'cat' })
      await untilWaiting(program, 2)
      const ours = await elapsedMs(() => {
        controller.abort()
        return behind
      })
      await write
      await bob.call('lock_release_all', { agent_id: 'cat' })
      await ann.call('lock_release_all')
      return { floor, ours }
    }
  }
}

function circle({ program, ann, bob }: Scene): Bound {
  return {
    what: 'a wait that closes a circle is answered',
    floor: 'lock_try',
    promised: 5,
    async measure() {
      await ann.call('lock_try', { filepaths: ['a'] })
      await bob.call('lock_try', { filepaths: ['b'] })
      const waits = bob.call('lock_wait', { filepaths: ['a'] })
      await untilWaiting(program, 1)
      const floor = await elapsedMs(() => ann.call('lock_try', { filepaths: ['a'] }))
      const ours = await elapsedMs(() => ann.call('lock_wait', { filepaths: ['b'] }))
      await ann.call('lock_release_all')
      await waits
      await bob.call('lock_release_all')
      return { floor, ours }
    }
  }
}

function largeNote({ ann }: Scene): Bound {
  const spaces = ' '.repeat(1_000_000)
  return {
    what: 'a note of 1 MB that must not be is refused',
    floor: 'an unknown parameter of 1 MB is refused',
    promised: 5,
    measure: async () => ({
      floor: await elapsedMs(() => ann.call('lock_try', { filepaths: ['a'], unknown: spaces })),
      ours: await elapsedMs(() => ann.call('lock_try', { filepaths: ['a'], note: `${spaces}\u202e` }))
    })
  }
}

/** FES gives a stop two seconds; what waits is answered within them. */
function stop({ owner }: Scene): Bound {
  const stopOf = async (calls: number) => {
    const { root } = makeTree(owner, { f: '' })
    const program = await startProgram(owner, ['--dir', root])
    const client = await connect(owner, 'rest', program.url)
    const input = { path: 'f', content: 'x' }
    const answers = Array.from({ length: calls }, () => client.call('async_append', input).catch(() => undefined))
    await Promise.race([...answers, client.call('async_read', { path: 'f' })])
    const ms = await elapsedMs(() => program.stop('SIGTERM'))
    await Promise.all(answers)
    return ms
  }
  return {
    what: `the program stops during ${waiting} writes of one file`,
    floor: 'it stops with nothing to do',
    promised: 10,
    measure: async () => ({ floor: await stopOf(0), ours: await stopOf(waiting) })
  }
}

/** From kill -9 of the authority until the next process answers; the alternative is to start one. */
function takeOver({ owner }: Scene): Bound {
  return {
    what: 'after kill -9 of the authority another process answers',
    floor: 'the program starts',
    promised: 1,
    async measure() {
      const { root } = makeTree(owner, { f: 'one' })
      const first = await startProgram(owner, ['--dir', root])
      await (await fetch(`${first.url}/locks`)).text()
      let next: RunningProgram | undefined
      const floor = await elapsedMs(async () => (next = await startProgram(owner, ['--dir', root])))
      const client = await connect(owner, 'rest', next!.url)
      await client.call('async_read', { path: 'f' })
      const ended = once(first.process, 'exit')
      const ours = await elapsedMs(async () => {
        first.process.kill('SIGKILL')
        await ended
        await client.call('async_read', { path: 'f' })
      })
      await next!.stop()
      return { floor, ours }
    }
  }
}

async function untilWaiting({ url }: RunningProgram, count: number): Promise<void> {
  const look = async () => ((await (await fetch(`${url}/locks`)).json()) as { counts: { waiting: number } }).counts
  while ((await look()).waiting !== count) await new Promise(setImmediate)
}
