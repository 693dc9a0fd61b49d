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
  /** Bob has changed it beside what she has seen, so that both can be one change. */
  isNear: boolean
  /** Changed by bob since. */
  isTouched: boolean
  /** Put in by bob since she has read: without it the file is again what she has seen, which is no news. */
  readonly isAdded?: true
}

interface Model {
  readonly lines: Line[]
  /** Ann must be told of a line that is gone. */
  mustNotify: boolean
  /** She must be told of these if they are still there at the end of the turn. */
  readonly changed: Set<Line>
  /** Something beside her lines, of which she may be told. */
  mayNotify: boolean
  next: number
}

const textOf = ({ lines }: Model) => lines.map(({ text }) => `${text}\n`).join('')
const isAtHand = (line: Line | undefined) => line?.isSeen === true || line?.isNear === true
const mustNotify = ({ mustNotify: isGone, changed, lines }: Model) => isGone || lines.some((line) => changed.has(line))

/** One edit of bob's. */
function edit(model: Model, random: (below: number) => number): void {
  const { lines, changed } = model
  const at = random(lines.length)
  const kind = random(3)
  const line = lines[at] as Line
  const before = lines[at - 1]
  model.mayNotify ||= [before, line, ...(kind === 2 ? [] : [lines[at + 1]])].some(isAtHand)
  if (kind === 0) {
    line.text = `line ${(model.next += 1)}`
    if (line.isSeen) changed.add(line)
    line.isTouched = true
  } else if (kind === 1 && lines.length > 5) {
    lines.splice(at, 1)
    model.mustNotify ||= line.isSeen && line.isAdded !== true
  } else {
    const text = `line ${(model.next += 1)}`
    const added: Line = { text, isSeen: false, isNear: false, isTouched: true, isAdded: true }
    lines.splice(at, 0, added)
    if (line.isSeen && before?.isSeen === true && !line.isTouched && !before.isTouched) changed.add(added)
  }
}

/** From now on ann counts from here: what she saw is still hers, with what has come between. */
function settle(model: Model): void {
  const { lines } = model
  for (const [line, before] of [...both(lines), ...both(lines.toReversed())])
    line.isNear ||= line.isTouched && isAtHand(before)
  const first = lines.findIndex(({ isSeen }) => isSeen)
  const last = lines.findLastIndex(({ isSeen }) => isSeen)
  for (const [index, line] of lines.entries()) line.isSeen = first !== -1 && index >= first && index <= last
  begin(model)
}

/** Each line with the one before it. */
const both = (lines: readonly Line[]) => lines.map((line, index) => [line, lines[index - 1]] as const)

function begin(model: Model): void {
  for (const line of model.lines) line.isTouched = false
  model.mustNotify = false
  model.mayNotify = false
  model.changed.clear()
}

async function read(ann: TestClient, model: Model, offset: number, limit: number): Promise<void> {
  await ann.call('async_read', { path: 'f', offset, limit })
  for (const [index, line] of model.lines.entries()) line.isSeen = index >= offset && index < offset + limit
  begin(model)
}

t.test('an agent is told of what it has seen, and of nothing else', async (t) => {
  const seed = givenSeed ?? 1
  const next = createRandom(seed)
  const random = (below: number) => Math.floor(next() * below)
  const counts = { noticed: 0, quiet: 0 }
  const rounds = lengthOf({ full: 25, short: 5 })
  for (let round = 0; round < rounds; round += 1) {
    const model: Model = { lines: [], mustNotify: false, changed: new Set(), mayNotify: false, next: 0 }
    for (let index = 0; index < 40; index += 1)
      model.lines.push({ text: `line ${(model.next += 1)}`, isSeen: false, isNear: false, isTouched: false })
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
      if (mustNotify(model) && notice === undefined) t.fail(`not told: ${title}`)
      if (!mustNotify(model) && !model.mayNotify && notice !== undefined) t.fail(`told of other lines: ${title}`)
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
