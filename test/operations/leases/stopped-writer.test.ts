// A writer that is stopped (SIGSTOP) past the end of its lease and then continued changes nothing: the writer is a process of its own.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { connect, transports, type Answer, type TransportName } from '../../fixtures/clients.ts'
import { cannotStop, stopProcess } from '../../fixtures/processes.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { changesOf, contentsOf, filesOf, type Change } from './fixtures/changes.ts'
import { outcomeOf } from './fixtures/doors.ts'
import type { Order } from './fixtures/writer-program.ts'

const script = installed('dist/suites/operations/leases/fixtures/writer-program.js')

function startWriter(t: Test, transport: TransportName, url: string) {
  // A 2025 client is somebody by its session; the others need a name.
  const name = transport === 'mcp-2025' ? [] : [`ann over ${transport}`]
  const child = spawn(process.execPath, [script, transport, url, ...name], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    /** Written to a stopped process, the order waits until it goes on. */
    send: (order: Order) => child.stdin.write(`${JSON.stringify(order)}\n`),
    async answer(): Promise<Answer> {
      return JSON.parse(String((await answers.next()).value)) as Answer
    },
    stop: () => stopProcess(child),
    continue: () => child.kill('SIGCONT')
  }
}

interface Case extends Change {
  readonly withToken: boolean
  readonly isWritten: boolean
}

/** Every change, with fencing_token and without, where somebody else has written meanwhile and where nobody has. */
function casesOf(transport: TransportName): Case[] {
  return [true, false].flatMap((withToken) =>
    [true, false].flatMap((isWritten) =>
      changesOf(`${transport}-${withToken ? 'named' : 'plain'}-${isWritten ? 'written' : 'left'}`).map((change) => ({
        ...change,
        withToken,
        isWritten
      }))
    )
  )
}

for (const transport of transports) {
  const title = `a writer over ${transport} that is stopped past the end of its lease and continued changes nothing`
  t.test(title, { skip: cannotStop }, async (t) => {
    const cases = casesOf(transport)
    const tree = makeTree(t, filesOf(cases))
    const { url } = await startServer(t, tree.root)
    const writer = startWriter(t, transport, url)
    const bob = await connect(t, 'rest', url, 'bob')
    writer.send({ name: 'lock_try', input: { filepaths: cases.map(({ file }) => file), ttl_seconds: 0.5 } })
    const { results, all_acquired } = await writer.answer()
    t.ok(all_acquired)
    const tokens = new Map((results as Answer[]).map(({ filepath, fencing_token }) => [filepath, fencing_token]))
    await writer.stop()
    for (const { file, operation, input, withToken } of cases)
      writer.send({ name: operation, input: input(withToken ? { fencing_token: tokens.get(file) } : {}) })

    const filepaths = cases.filter(({ isWritten }) => isWritten).map(({ file }) => file)
    t.match(await bob.call('lock_wait', { filepaths }), { all_acquired: true }, 'the leases have expired')
    for (const { file, content, isWritten } of cases)
      if (isWritten && content !== undefined) await bob.call('async_append', { path: file, content: 'bob' })
    await bob.call('lock_release_all')
    const leases = async () => ((await (await fetch(`${url}/locks`)).json()) as Answer)['counts'].leases
    await until(async () => (await leases()) === 0)
    const before = contentsOf(tree)
    t.equal(Object.values(before).filter((content) => content.endsWith('bob')).length, 14)

    writer.continue()
    for (const { title, file } of cases) t.equal(outcomeOf(await writer.answer()), 'LEASE_LOST', `${title}: ${file}`)
    t.strictSame(contentsOf(tree), before, 'not a byte is changed')
    const appends = cases.filter(({ operation }) => operation === 'async_append')
    for (const { operation, input, file } of appends) {
      writer.send({ name: 'async_read', input: { path: file } })
      await writer.answer()
      writer.send({ name: operation, input: input() })
      t.equal(outcomeOf(await writer.answer()), 'ok', 'it has read the file, and may go on')
    }
  })
}
