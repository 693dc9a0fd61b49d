// Repeats of named changes that come at once, through several processes, with short waits, cancels and kills of the authority: each name counts once.
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { createRandom, type Random } from '../../fixtures/random.ts'
import type { StdioProgram } from '../../fixtures/stdio.ts'
import { until } from '../../fixtures/until.ts'
import { makeKeptTree, type KeptTree } from './fixtures/kept.ts'

t.setTimeout(900_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const kills = lengthOf({ long: 100, full: 20, short: 3 })

const agents = ['ann', 'bob', 'cid']
const files = ['a.txt', 'b.txt', 'c.txt']
/** Of the names of each agent that are repeated once more at the end. */
const lastNames = 10

interface Window {
  program: StdioProgram
  call: KeptTree['stdio'] extends (...args: never[]) => { call: infer Call } ? Call : never
}

/** One change that its agent has named, and all that it was answered. */
interface Named {
  readonly name: string
  readonly operation: string
  readonly input: object
  readonly files: readonly string[]
  readonly answers: Answer[]
}

/** How a change adds one line with its name to each of its files. */
const kinds: readonly ((line: string, random: Random) => Pick<Named, 'operation' | 'input' | 'files'>)[] = [
  (content, random) => {
    const path = pick(files, random)
    return { operation: 'async_append', input: { path, content }, files: [path] }
  },
  (content) => ({
    operation: 'async_transaction',
    input: { changes: files.slice(0, 2).map((path) => ({ operation: 'append', path, content })) },
    files: files.slice(0, 2)
  }),
  (content) => ({
    operation: 'edit_file',
    input: { name: 'c.txt', append: content.trimEnd() },
    files: ['c.txt']
  })
]

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[Math.floor(random() * items.length)] as Item
}

/** What a call is answered that did nothing, or of which the caller is told that nothing is known. */
const inconclusive = /^(?:LOCK_TIMEOUT|OVERLOADED|CANCELLED|AUTHORITY_LOST)\b/

const codeOf = ({ error_code, details }: Answer) => String(error_code ?? details)
const isDone = ({ status, success }: Answer) => status === 'ok' || success === true

/** Sends it, and perhaps cancels it after a while. @returns undefined if the process was killed before it answered */
async function send({ program }: Window, named: Named, cancelMs: number | undefined): Promise<Answer | undefined> {
  const id = `${named.name} ${(sent += 1)}`
  program.send({ jsonrpc: '2.0', id, method: named.operation, params: named.input })
  const answered = program.answer(id).catch(() => undefined)
  if (cancelMs !== undefined) {
    await Promise.race([answered, delay(cancelMs)])
    program.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
  }
  const message = await answered
  return message && (message.result ?? message.error?.data)
}
let sent = 0

/** Repeats it at once through several windows, again and again until it is done. */
async function insist(windows: readonly Window[], named: Named, random: Random): Promise<void> {
  while (!named.answers.some(isDone)) {
    const copies = Array.from({ length: 1 + Math.floor(random() * 4) }, async () => {
      // Most at the very same moment, some within a few milliseconds.
      if (random() < 0.3) await delay(random() * 5)
      const cancelMs = random() < 0.2 ? random() * 30 : undefined
      const answer = await send(pick(windows, random), named, cancelMs)
      if (answer === undefined) return
      if (!isDone(answer) && !inconclusive.test(codeOf(answer)))
        throw new Error(`${named.operation} ${JSON.stringify(named.input)}: ${JSON.stringify(answer)}`)
      named.answers.push(answer)
    })
    await Promise.all(copies)
  }
}

/** Another agent leases a file for a moment, so that some calls wait, and some of them too long. */
async function lease(windows: readonly Window[], random: Random): Promise<void> {
  const filepaths = [pick(files, random)]
  const window = pick(windows, random)
  const input = { filepaths, agent_id: 'holder' }
  await window.call('lock_try', input).catch(() => undefined)
  await delay(random() * 60)
  await pick(windows, random)
    .call('lock_release', input)
    .catch(() => undefined)
  await delay(random() * 60)
}

async function killAuthority(windows: Window[], open: () => Window): Promise<void> {
  let index = -1
  await until(async () => {
    const answer = await windows[0]!.call('get_server_info').catch(() => undefined)
    index = windows.findIndex(({ program }) => program.process.pid === answer?.['server']?.authority_pid)
    return index !== -1
  })
  const victim = windows[index] as Window
  windows[index] = open()
  await victim.program.end('SIGKILL')
}

function check(t: Test, tree: KeptTree, all: readonly Named[]): void {
  const lines = new Map(files.map((path) => [path, tree.read(path).split('\n')]))
  for (const { name, files: own, answers } of all) {
    for (const path of own) {
      const times = lines.get(path)!.filter((line) => line === name).length
      const wanted = answers.some(isDone) ? times === 1 : times <= 1
      if (!wanted) t.fail(`${name} is ${times} times in ${path}: ${JSON.stringify(answers)}`)
    }
  }
}

t.test(`a name counts once, however many repeats come at once, and ${kills} kills (TEST_SEED=${seed})`, async (t) => {
  const random = createRandom(seed)
  const tree = makeKeptTree(t, Object.fromEntries(files.map((path) => [path, 'begin\n'])), {
    CRUD__DURABILITY: 'rename'
  })
  const open = (): Window => tree.stdio('--log-level', 'warn')
  const windows = [open(), open(), open()]
  const all: Named[] = []
  let done = 0
  const over = new AbortController()

  async function work(agent_id: string): Promise<void> {
    for (let count = 0; !over.signal.aborted; count += 1) {
      const name = `${agent_id} ${count}`
      const { operation, input, files: own } = pick(kinds, random)(`${name}\n`, random)
      // Another wait would be another input.
      const wait = operation === 'edit_file' ? {} : { timeout: pick([0, 0.03, 0.1, 5], random) }
      const named = {
        name,
        operation,
        input: { ...input, ...wait, agent_id, request_id: name },
        files: own,
        answers: []
      }
      all.push(named)
      await insist(windows, named, random)
      done += 1
    }
  }

  const leasing = (async () => {
    while (!over.signal.aborted) await lease(windows, random)
  })()
  const working = Promise.all(agents.map(work))
  for (let round = 0; round < kills; round += 1) {
    const before = done
    await Promise.race([until(() => done > before + 10), working])
    await delay(random() * 50)
    await killAuthority(windows, open)
  }
  over.abort()
  await Promise.all([working, leasing])
  check(t, tree, all)
  for (const agent of agents) {
    for (const named of all.filter(({ name }) => name.startsWith(agent)).slice(-lastNames))
      t.match(await send(windows[0]!, named, undefined), { replayed: true }, `${named.name} is known still`)
  }
  check(t, tree, all)
  const answers = all.flatMap((named) => named.answers)
  const replayed = answers.filter((answer) => answer['replayed'] === true).length
  t.ok(replayed > kills, 'there were repeats')
  t.comment(`${all.length} names, ${sent} calls, ${answers.length} answers, ${replayed} of them repeated`)
  for (const { program } of windows) await program.end()
})
