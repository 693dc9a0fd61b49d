// A process that speaks another version of the tree's protocol than the authority is refused, and is told which is the older one.
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { protocol } from '../../../src/tree/authority/messages.ts'
import { copyProgram } from '../../fixtures/installation.ts'
import { call, httpOn } from '../../fixtures/processes.ts'
import { startProgram } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'

/** @returns what Node runs: the program as a version that greets with this protocol */
function programOf(t: Test, spoken: number): string {
  const copy = copyProgram(t)
  const greeting = `protocol: ${protocol},`
  const chunks = readdirSync(copy.path('dist/chunks')).map((name) => `dist/chunks/${name}`)
  const found = chunks.filter((name) => name.endsWith('.cjs') && copy.read(name).includes(greeting))
  t.equal(found.length, 1)
  for (const name of found) copy.write(name, copy.read(name).replace(greeting, `protocol: ${spoken},`))
  return copy.main
}

t.test('a relay of another version is refused, with which is older and what to do', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const { process: authority } = await httpOn(t, tree)
  const stop = `async-crud-mcp daemon stop, or kill ${authority.pid}`
  const cases = [
    [protocol - 1, `this process is older than process ${authority.pid}, which serves .*: update this one`],
    [protocol + 1, `process ${authority.pid}, which serves .*, is older than this one: .*stop it \\(${stop}\\)`]
  ] as const
  for (const [spoken, words] of cases) {
    const main = programOf(t, spoken)
    const stdio = startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { main })
    t.match(await call(stdio, 'async_read', { path: 'f' }), { message: new RegExp(words) })
    const http = startProgram(t, ['--dir', tree.root, '--log-level', 'silent'], {}, [main])
    const ended = await http.then(
      () => undefined,
      ({ message }: Error) => message
    )
    t.match(ended ?? 'it listens', new RegExp(`^program ended with 1: .*${words}`, 's'))
  }
})
