// One cell of the table while it runs: a file of its own, agents of its own, and one way to change the file.
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { replaced, type Case, type Way } from './way.ts'
import type { World } from './world.ts'

const lines = Array.from({ length: 12 }, (_, index) => `line ${String(index + 1).padStart(2, '0')}.\n`)

let count = 0

/** No other cell has the same bytes, so that none of them are kept by chance. */
const freshText = () => [`line 01. Of cell ${count}.\n`, ...lines.slice(1)].join('')

export function createCase(t: Test, way: Way, world: World, text = freshText(), said = text): Case {
  count += 1
  const { tree } = world
  const path = `f${count}.txt`
  const other = `g${count}.txt`
  const ann = way.kind === 'native' ? `claude-code/ann-${count}` : `ann-${count}`
  const [bob, carl] = [`bob-${count}`, `carl-${count}`]

  function read(name: string): string | undefined {
    return existsSync(tree.path(name)) ? readFileSync(tree.path(name), 'latin1') : undefined
  }

  async function must(agent: string, name: string, input: object): Promise<Answer> {
    const answer = await world.call(agent, name, input)
    if (answer['status'] !== 'ok') throw new Error(`${name}: ${JSON.stringify(answer)}`)
    return answer
  }

  async function change(agent: string, name: string, make: (text: string) => string): Promise<void> {
    if (world.isGuarded) {
      await must(agent, 'async_read', { path: name })
      world.write(name, Buffer.from(make(read(name) as string), 'latin1'))
      return void (await must(agent, 'async_read', { path: name }))
    }
    if (world.needsLeases) await must(agent, 'lock_try', { filepaths: [name] })
    const { hash, content } = await must(agent, 'async_read', { path: name, encoding: 'latin1' })
    const input = { path: name, expected_hash: hash, content: make(content as string), encoding: 'latin1' }
    await must(agent, 'async_update', input)
    await must(agent, 'lock_release_all', {})
  }

  const c: Case = {
    t,
    way,
    world,
    text,
    said,
    path,
    other,
    ann,
    bob,
    carl,
    must,
    change,
    read,
    write: (content, name = path) => world.write(name, Buffer.from(content, 'latin1')),
    of: (bytes, saidSo = bytes) => createCase(t, way, world, bytes, saidSo),
    async others(line = 2) {
      await change(bob, path, (now) => replaced(now, { line, words: 'theirs' }))
      return read(path) as string
    },
    seen: (agent, name = path) => must(agent, 'async_read', { path: name, encoding: 'latin1' }),
    async makes(code, options = {}) {
      const outcome = await way.make(c, options)
      t.equal(outcome.code, code, `answered ${JSON.stringify(outcome.answer)}`.slice(0, 1500))
      return outcome
    },
    has(content, name = path) {
      t.equal(read(name), content, `${name} has what it is to have`)
    },
    hasAfter(content, options = {}) {
      c.has(way.after(content, options))
      if (way.kind === 'move') c.has(content, other)
    },
    isLink: (name = path) => lstatSync(tree.path(name), { throwIfNoEntry: false })?.isSymbolicLink() === true,
    hash: (name = path) => hashOf(readFileSync(tree.path(name)))
  }
  return c
}
