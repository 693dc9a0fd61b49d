// Random edits beside a model that knows each line by itself: an agent is told exactly when lines that it has seen were touched, and where they stand now.
import t from 'tap'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { createRandom } from '../../fixtures/random.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'

/** A line, as the model knows it wherever it moves. */
interface Line {
  text: string
  /** Ann has seen it, and has not been told of anything at it since. */
  isSeen: boolean
  /** Changed by bob since. */
  isTouched: boolean
}

interface Model {
  readonly lines: Line[]
  /** Something that ann must be told of. */
  mustNotify: boolean
  /** Something beside her lines, of which she may be told. */
  mayNotify: boolean
  next: number
}

const textOf = ({ lines }: Model) => lines.map(({ text }) => `${text}\n`).join('')

/** One edit of bob's. */
function edit(model: Model, random: (below: number) => number): void {
  const { lines } = model
  const at = random(lines.length)
  const kind = random(3)
  const line = lines[at] as Line
  const neighbours = [lines[at - 1], lines[at + 1]]
  if (kind === 0) {
    line.text = `line ${(model.next += 1)}`
    model.mustNotify ||= line.isSeen
    line.isTouched = true
    model.mayNotify ||= neighbours.some((neighbour) => neighbour?.isSeen === true)
  } else if (kind === 1 && lines.length > 5) {
    lines.splice(at, 1)
    model.mustNotify ||= line.isSeen
    model.mayNotify ||= neighbours.some((neighbour) => neighbour?.isSeen === true)
  } else {
    const before = lines[at - 1]
    lines.splice(at, 0, { text: `line ${(model.next += 1)}`, isSeen: false, isTouched: true })
    model.mustNotify ||= line.isSeen && before?.isSeen === true && !line.isTouched && !before.isTouched
    model.mayNotify ||= line.isSeen || before?.isSeen === true
  }
}

/** From now on ann counts from here: what she saw is still hers, with what has come between. */
function settle(model: Model): void {
  const first = model.lines.findIndex(({ isSeen }) => isSeen)
  const last = model.lines.findLastIndex(({ isSeen }) => isSeen)
  for (const [index, line] of model.lines.entries()) {
    line.isSeen = first !== -1 && index >= first && index <= last
    line.isTouched = false
  }
  model.mustNotify = false
  model.mayNotify = false
}

async function read(ann: TestClient, model: Model, offset: number, limit: number): Promise<void> {
  await ann.call('async_read', { path: 'f', offset, limit })
  for (const [index, line] of model.lines.entries()) {
    line.isSeen = index >= offset && index < offset + limit
    line.isTouched = false
  }
  model.mustNotify = false
  model.mayNotify = false
}

t.test('an agent is told of what it has seen, and of nothing else', async (t) => {
  const seed = givenSeed ?? 1
  const next = createRandom(seed)
  const random = (below: number) => Math.floor(next() * below)
  const counts = { noticed: 0, quiet: 0 }
  const rounds = lengthOf({ full: 25, short: 5 })
  for (let round = 0; round < rounds; round += 1) {
    const model: Model = { lines: [], mustNotify: false, mayNotify: false, next: 0 }
    for (let index = 0; index < 40; index += 1)
      model.lines.push({ text: `line ${(model.next += 1)}`, isSeen: false, isTouched: false })
    const tree = makeTree(t, { f: textOf(model) })
    const { url, app } = await startServer(t, tree.root, {
      watcher: { enabled: false },
      daemon: { log_level: 'silent' }
    })
    const ann = await connect(t, 'rest', url, 'ann')
    const bob = await connect(t, 'rest', url, 'bob')
    await read(ann, model, random(30), 3 + random(8))
    for (let turn = 0; turn < 6; turn += 1) {
      const base = hashOf(textOf(model))
      for (let edits = 1 + random(2); edits > 0; edits -= 1) edit(model, random)
      await bob.call('async_update', { path: 'f', expected_hash: base, content: textOf(model) })
      const { notices } = await ann.call('lock_status', { filepaths: ['elsewhere'] })
      const notice = (notices as Answer[] | undefined)?.[0]
      const title = `seed ${seed}, round ${round}, turn ${turn}`
      if (model.mustNotify && notice === undefined) t.fail(`not told: ${title}`)
      if (!model.mustNotify && !model.mayNotify && notice !== undefined) t.fail(`told of other lines: ${title}`)
      counts[notice === undefined ? 'quiet' : 'noticed'] += 1
      const isCovered = (line: number) =>
        ((notice?.lines ?? []) as Answer[]).some(({ start_line, end_line }) => line >= start_line && line <= end_line)
      for (const [index, { isSeen, isTouched }] of model.lines.entries())
        if (notice !== undefined && isSeen && isTouched && !isCovered(index + 1))
          t.fail(`line ${index + 1} not told: ${title}`)
      settle(model)
      if (model.lines.every(({ isSeen }) => !isSeen)) break
    }
    await app.close()
  }
  t.ok(counts.noticed > rounds / 2 && counts.quiet > rounds / 2, JSON.stringify(counts))
})
