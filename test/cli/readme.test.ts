// The README's first session, pasted as it stands, does what it says.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { operations } from '../../src/operations/index.ts'
import type { Answer } from '../fixtures/clients.ts'
import { startProgram } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')

t.test('the session with curl: read, two updates of one version, the diff, the adjusted update', async (t) => {
  const tree = makeTree(t)
  const section = readme.slice(
    readme.indexOf('## A first session with curl'),
    readme.indexOf('## The same with an MCP client')
  )
  const blocks = [...section.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] as string)
  t.equal(blocks.length, 3)
  const run = async (script: string) => (await promisify(execFile)('bash', ['-euc', script])).stdout
  const [prepare, ...session] = blocks.map((block) => block.replaceAll('/tmp/demo', tree.root))
  await run((prepare as string).replace(/npm start.*/, ''))
  const { url } = await startProgram(t, ['--dir', tree.root])
  const output = await run(session.join('\n').replaceAll('http://127.0.0.1:8720', url))
  const [read, ann, late, bob, ...file] = output.split('\n')
  const parse = (text: string | undefined) => JSON.parse(text ?? '') as Answer
  t.match(parse(read), { status: 'ok', content: 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n' })
  t.match(parse(ann), { status: 'ok' })
  const promised = JSON.parse(/```json\n([^]*?)```/.exec(section)?.[1] ?? '') as Answer
  t.match(parse(late), promised, "Bob's answer is the one that is printed")
  t.match(parse(bob), { status: 'ok' })
  t.equal(file.join('\n'), 'one\nzwei\nthree\nfour\nfive\nsix\nseven\nacht\n')
})

t.test('every operation is in the README, and every link leads to a file', async (t) => {
  for (const { name } of operations) t.match(readme, `\`${name}\``)
  for (const [, target] of readme.matchAll(/\]\((?!http)([^)]+)\)/g)) {
    const path = new URL(`../../../${target}`, import.meta.url)
    t.doesNotThrow(() => (target?.endsWith('/') === true ? undefined : readFileSync(path)), String(target))
  }
})
