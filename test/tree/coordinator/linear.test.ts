// Instances are killed while clients read and change a few files through all of them: each file behaves as one copy that is changed by one call at a time.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { post } from '../../fixtures/processes.ts'
import { createRandom } from '../../fixtures/random.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { toEdn } from '../../harness/transactions/edn.ts'
import { findOrder, type Act, type Version } from '../../harness/transactions/serial-order.ts'
import { lacksEtcd, startEtcd } from './fixtures/etcd.ts'
import { startHost } from './fixtures/hosts.ts'
import { lacksVolume, makeVolume, type Mount } from './fixtures/volumes.ts'
import { startSupervised } from './fixtures/writers.ts'

t.setTimeout(3_600_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const operations = lengthOf({ long: 50_000, full: 2500, short: 300 })
const kills = lengthOf({ long: 60, full: 4, short: 1 })
const clients = 30
const files = ['a', 'b', 'c', 'd', 'e']
/** A folder for what each file went through, for other checkers. */
const histories = process.env['TEST_HISTORIES']

/**
 * None of them says what became of the call: the same call is sent again. The last one comes from a server of another tree, which has
 * got the port of an instance that was killed.
 */
const undecided = ['OVERLOADED', 'AUTHORITY_LOST', 'CANCELLED', 'LOCK_TIMEOUT', 'PATH_OUTSIDE_BASE']

interface FileAct extends Act {
  readonly file: string
}

interface Answered {
  readonly answer: Answer
  readonly sentAt: number
  readonly answeredAt: number
}

t.test(
  `${operations} operations of ${clients} clients over three instances, with ${kills} kills, are linearizable for each file (TEST_SEED=${seed})`,
  { skip: lacksEtcd || lacksVolume },
  async (t) => {
    const etcd = await startEtcd(t)
    const { tree, mounts } = await makeVolume(t, {
      files: Object.fromEntries(files.map((file) => [file, file])),
      clients: [{}, {}, {}]
    })
    const over = new AbortController()
    t.teardown(() => over.abort())
    const environment = { ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename' }
    const startAt = (mount: Mount) => () => startHost(t, { etcd, ...mount, environment })
    const hosts = await Promise.all(mounts.map((mount) => startSupervised(startAt(mount), over.signal)))
    const acts: FileAct[] = []
    const counts: Record<string, number> = {}
    const problems: Answer[] = []
    let begun = 0
    let done = 0

    async function runClient(index: number): Promise<void> {
      const random = createRandom(seed + index)
      const agent = `client-${index}`

      /** @param isRead a repeat is a call of its own */
      async function decide(name: string, input: object, isRead: boolean): Promise<Answered> {
        let sentAt = performance.now()
        for (;;) {
          const { url } = (hosts[Math.floor(random() * hosts.length)] as (typeof hosts)[number]).program
          if (isRead) sentAt = performance.now()
          const answer = await post(url, name, { agent_id: agent, ...input }).catch(() => undefined)
          const outcome = answer === undefined ? 'none' : String(answer['error_code'] ?? answer['status'])
          counts[`${name} ${outcome}`] = (counts[`${name} ${outcome}`] ?? 0) + 1
          if (answer?.['replayed'] === true) counts['replayed'] = (counts['replayed'] ?? 0) + 1
          if (answer !== undefined && !undecided.includes(outcome))
            return { answer, sentAt, answeredAt: performance.now() }
          await delay(20)
        }
      }

      function note(name: string, file: string, { sentAt, answeredAt }: Answered, saw?: Version, made?: Version) {
        const seen = new Map(saw === undefined ? [] : [[file, saw]])
        const left = new Map(made === undefined ? [] : [[file, made]])
        acts.push({ agent, name, file, sentAt, answeredAt, saw: seen, made: left })
      }

      for (begun += 1; begun <= operations; begun += 1) {
        const number = begun
        const file = files[Math.floor(random() * files.length)] as string
        const path = tree.path(file)
        const found = await decide('async_read', { path }, true)
        done += 1
        const isThere = found.answer['status'] === 'ok'
        if (!isThere && found.answer['error_code'] !== 'FILE_NOT_FOUND') problems.push(found.answer)
        const known: Version = isThere ? found.answer['hash'] : null
        note(`read ${number}`, file, found, known)
        const choice = random()
        if (choice < 0.3) continue
        begun += 1
        const name = `change ${begun}`
        const text = `${agent} ${begun}`
        const expected = { path, request_id: name, ...(known !== null && { expected_hash: known }) }
        const [operation, input] =
          known === null
            ? ['async_write', { ...expected, content: text }]
            : choice < 0.4
              ? ['async_delete', expected]
              : choice < 0.6
                ? ['async_append', { ...expected, content: `\n${text}` }]
                : ['async_update', { ...expected, content: text }]
        const changed = await decide(operation, input, false)
        done += 1
        const { status, error_code, current_hash, hash } = changed.answer
        if (status === 'ok') note(name, file, changed, known, operation === 'async_delete' ? null : hash)
        else if (status === 'contention') note(name, file, changed, current_hash)
        else if (error_code === 'FILE_NOT_FOUND') note(name, file, changed, null)
        else if (error_code !== 'FILE_EXISTS') problems.push(changed.answer)
      }
    }

    async function kill(): Promise<void> {
      const random = createRandom(seed - 1)
      for (let count = 1; count <= kills; count += 1) {
        await until(() => done >= (count * operations) / (kills + 1))
        const host = hosts[Math.floor(random() * hosts.length)] as (typeof hosts)[number]
        const { process: child } = host.program
        child.kill('SIGKILL')
        await until(() => host.program.process !== child)
      }
    }

    await Promise.all([kill(), ...Array.from({ length: clients }, (_, index) => runClient(index))])
    over.abort()
    t.comment(JSON.stringify(counts))
    t.comment(`${done} operations`)
    t.strictSame(problems, [], 'each call is answered as it can be')
    for (const file of files) {
      const own = acts.filter((act) => act.file === file)
      if (histories !== undefined) writeFileSync(join(histories, `${file}.edn`), toEdn(file, hashOf(file), own))
      const order = findOrder(new Map([[file, hashOf(file)]]), own)
      if ('stuck' in order) t.fail(`${file}: ${order.stuck}`)
      else
        t.equal(
          tree.all().includes(file) ? hashOf(tree.bytes(file)) : null,
          order.end.get(file),
          `${file}: the order of ${own.length} acts ends with what the file has`
        )
    }
  }
)
