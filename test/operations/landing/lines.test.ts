// HEAD with the lines of one agent: what is composed is HEAD and nothing but that agent's, or says what it rests on.
import t from 'tap'
import { composeLines } from '../../../src/operations/land/compose-lines.ts'
import type { Stage } from '../../../src/operations/land/add-stage.ts'
import { createLineLog, withHead } from '../../../src/operations/land/line-log.ts'
import type { Places } from '../../../src/operations/land/slide-hunks.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'

const lines = (text: string) => text.split(' ').filter((word) => word !== '')

/** @param stages such as `ann: 1 a 3` @param newHead what has been committed since */
function land(head: string, stages: readonly string[], agents: string, newHead = head, overwritten?: string) {
  const all = stages.map((stage) => {
    const [change = '', text = ''] = stage.split(':')
    return { change, lines: lines(text) }
  })
  const rules = {
    isSame: (one: string, other: string) => one === other,
    restores: (change: string) => change === 'external',
    countsRestored: overwritten !== undefined
  }
  const logAt = (places: Places) => {
    const log = createLineLog(lines(head), all, { ...rules, places })
    return newHead === head ? log : withHead(log, lines(newHead), 'unknown', rules)
  }
  const log = { ...logAt('last'), others: [logAt('first'), logAt('mixed')] }
  const {
    lines: composed,
    dependences,
    isChanged
  } = composeLines(log, {
    isChosen: (change) => lines(agents).includes(change),
    ...(overwritten !== undefined && { isUndone: (change) => lines(overwritten).includes(change) })
  })
  const on = [...new Set(dependences.map((one) => one.on))].join(' ')
  return `${composed.join(' ')}${on === '' ? '' : ` (${on})`}${isChanged ? '' : ' unchanged'}`
}

t.test('the lines of one agent, whatever others have made beside them', async (t) => {
  const stages = ['ann: 1 a 3 4', 'bob: 1 a 3 b 4', 'cid: 1 a 3 b']
  t.equal(land('1 2 3 4', stages, 'ann'), '1 a 3 4')
  t.equal(land('1 2 3 4', stages, 'bob'), '1 2 3 b 4')
  t.equal(land('1 2 3 4', stages, 'cid'), '1 2 3')
  t.equal(land('1 2 3 4', stages, 'ann cid'), '1 a 3')
  t.equal(land('1 2 3 4', stages, 'ann bob cid'), '1 a 3 b')
  t.equal(land('1 2 3 4', stages, 'dan'), '1 2 3 4 unchanged')
})

t.test('neighbours do not rest on one another', async (t) => {
  t.equal(land('1 2', ['ann: 1 a 2', 'bob: 1 a b 2'], 'bob'), '1 b 2')
  t.equal(land('1 2', ['ann: 1 a 2', 'bob: 1 b a 2'], 'ann'), '1 a 2')
  t.equal(land('1 2 3', ['ann: 1 a 3', 'bob: 1 a b'], 'bob'), '1 2 b')
  t.equal(land('1 2 3', ['ann: 1 3', 'bob: 1 b 3'], 'bob'), '1 b 2 3')
})

t.test('what begins or ends as its neighbour does stands beside it, not inside', async (t) => {
  const above = ['bob: 1 /* b */ fb 2', 'ann: 1 /* a */ fa /* b */ fb 2']
  t.equal(land('1 2', above, 'ann'), '1 /* a */ fa 2')
  t.equal(land('1 2', above, 'bob'), '1 /* b */ fb 2')
  const below = ['bob: 1 fb } . 2', 'ann: 1 fb } . fa } . 2']
  t.equal(land('1 2', below, 'ann'), '1 fa } . 2')
  const gone = [...above, 'ann: 1 /* b */ fb 2']
  t.equal(land('1 2', gone, 'ann'), '1 2 unchanged')
  t.equal(land('1 2', gone, 'bob'), '1 /* b */ fb 2')
})

t.test(
  'where equal lines leave open which is meant, and that would make another commit, it rests on the other',
  async (t) => {
    // Ann has added = and x, before Bob's = or behind it.
    const beside = ['bob: 1 = 2', 'ann: 1 = x = 2']
    t.match(land('1 2', beside, 'ann'), '(bob)')
    t.equal(land('1 2', beside, 'bob'), '1 = 2')
    t.equal(land('1 2', beside, 'ann bob'), '1 = x = 2')
    t.equal(land('1 2', beside, 'ann', '1 = 2'), '1 = x = 2', 'once Bob has landed, there is one place left')
    // Ann has removed Bob's 2, or HEAD's.
    const twice = ['bob: 1 2 2 3', 'bob: 1 2 2 3 b', 'ann: 1 2 3 b']
    t.match(land('1 2 3', twice, 'ann', '1 2 3', 'bob'), '(bob)')
    t.equal(land('1 2 3', twice, 'ann', '1 2 2 3 b', 'bob'), '1 2 3 b')
    t.equal(land('1 2 3', twice, 'ann'), '1 2 3 unchanged')
    // Cid has renamed HEAD's heading, or Ann's.
    const headings = ['ann: u = a . u = 1 9', 'bob: u = a . r - 1 9', 'cid: s - a . r - 1 9']
    t.match(land('u = 1 9', headings, 'cid'), '(ann bob)')
    t.equal(land('u = 1 9', headings, 'ann cid', 'u = 1 9', 'bob'), 's - a . u = 1 9')
    t.equal(land('u = 1 9', [...headings, 'dan: s - a . r - 1 9 d'], 'dan'), 'u = 1 9 d', 'what is elsewhere is clear')
    // Bob's = is the first or the second one; Cid has written between them.
    t.match(land('= 9', ['bob: = = 9', 'cid: = c = 9'], 'cid'), '(bob)', 'and what stands between them')
  }
)

t.test('what replaces lines of others, or stands inside them, rests on these', async (t) => {
  t.match(land('1 2', ['ann: 1 a b 2', 'bob: 1 a x b 2'], 'bob'), '(ann)')
  t.equal(land('1 2', ['ann: 1 a b 2', 'bob: 1 a x b 2'], 'ann'), '1 a b 2')
  t.match(land('1 2', ['ann: 1 a', 'bob: 1 x'], 'bob'), '(ann)')
  t.match(land('1 2', ['ann: 1 a', 'bob: 1 x'], 'ann'), '(bob)', 'half of a change is no change')
  t.equal(land('1 2', ['ann: 1 a', 'bob: 1 x'], 'ann bob'), '1 x')
  t.equal(land('1 2', ['ann: 1 a 2', 'bob: 1 2'], 'ann'), '1 2 unchanged', 'what others removed is not taken')
  t.equal(land('1 2', ['ann: 1 a b 2', 'bob: 1 b 2'], 'ann'), '1 b 2', 'nor does it stop the rest')
  t.match(land('1 2', ['ann: 1 a', 'bob: 1'], 'ann'), '(bob)', 'but half of a replacement does')
  t.equal(land('1 2', ['ann: 1 a 2', 'bob: 1'], 'bob'), '1', 'a removal rests on nothing')
  t.match(land('1 2', ['ann: 1 a', 'bob: 1 b', 'cid: 1 c'], 'cid bob'), '(ann)')
})

t.test('each change of a chain by itself, as if those behind it had not happened', async (t) => {
  const stages = ['ann: 1 a 3', 'bob: 1 b 3', 'cid: 1 b c 3']
  t.equal(land('1 2 3', stages, 'ann', '1 2 3', 'bob cid'), '1 a 3')
  t.match(land('1 2 3', stages, 'bob', '1 2 3', 'cid'), '(ann)')
  t.equal(land('1 2 3', stages, 'bob', '1 a 3', 'cid'), '1 b 3')
  t.equal(land('1 2 3', stages, 'cid', '1 b 3', 'ann'), '1 b c 3')
  t.match(land('1 2 3', ['ann: 1 a 3', 'external: 1 x 3'], 'ann', '1 2 3', 'bob'), '(external)')
  t.equal(land('1 2 3', ['ann: 1 a b 3', 'bob: 1 a 3', 'cid: 1 a c 3'], 'ann', '1 2 3', 'bob'), '1 a b 3')
})

t.test(
  'a line that one has taken away and another one brings is a change of each, as if later ones had not happened',
  async (t) => {
    const stages = ['ann: 1 3 4', 'bob: 1 3 2 4', 'cid: 1 3 2 4 c']
    t.equal(land('1 2 3 4', stages, 'ann', '1 2 3 4', 'bob cid'), '1 3 4')
    t.equal(land('1 2 3 4', stages, 'bob', '1 3 4', 'ann cid'), '1 3 2 4')
    const near = ['ann: 1 4', 'bob: 1 b 2 4', 'cid: 1 b 2 4 c']
    t.equal(land('1 2 3 4', near, 'ann'), '1 2 4')
    t.equal(land('1 2 3 4', near, 'ann', '1 2 3 4', 'bob cid'), '1 4')
    t.equal(land('1 2 3 4', near, 'bob', '1 4', 'ann cid'), '1 b 2 4')
    t.equal(land('1 2 3 4', near, 'bob', '1 4 c', 'ann cid'), '1 b 2 4 c')
  }
)

t.test('a line that came back is no difference', async (t) => {
  t.equal(land('1 2 3', ['ann: 1 3', 'bob: 1 2 3'], 'ann'), '1 2 3 unchanged')
  t.equal(land('1 2 3', ['ann: 1 x 3', 'ann: 1 2 3', 'bob: 1 2 b 3'], 'bob'), '1 2 b 3')
  t.equal(land('1 2 3', ['ann: 1 x 3', 'bob: 1 2 3'], 'ann'), '1 2 3 unchanged')
  t.equal(land('1 2 3 4', ['ann: 1', 'bob: 1 3 4 b'], 'ann'), '1 3 4')
  t.equal(land('1 2 3 4', ['ann: 1', 'bob: 1 3 4 b'], 'bob'), '1 2 3 4 b')
})

t.test('what has been committed since is no difference any more, and the rest keeps its authors', async (t) => {
  const stages = ['ann: 1 a 3', 'bob: 1 a 3 b', 'cid: 1 a c 3 b']
  t.equal(land('1 2 3', stages, 'bob', '1 a 3'), '1 a 3 b')
  t.equal(land('1 2 3', stages, 'ann', '1 a 3'), '1 a 3 unchanged')
  t.equal(land('1 2 3', stages, 'cid', '1 a 3 b'), '1 a c 3 b')
  t.equal(land('1', ['ann: a', 'bob: b'], 'bob', 'a'), 'b', 'what rested on it rests on HEAD')
  t.equal(land('1 2 3', stages, 'unknown', '0 1 a 3 b'), '1 a 3 b', 'what nobody is known to have removed')
  t.equal(land('1 2 3', stages, 'bob', 'a 3'), 'a 3 b')
  t.equal(land('1 2 3', stages, 'unknown', 'a 3'), '1 a 3', 'a line that only the file has')
})

t.test('of equal lines those are committed whose whole change is', async (t) => {
  const stages = ['cid: u = . c . 9', 'ann: u = . c . u = . a . 9', 'bob: u = . c . r - . a . 9']
  const overwritten = 'ann bob cid'
  t.equal(land('9', stages, 'ann', '9', overwritten), 'u = . a . 9')
  t.equal(land('9', stages, 'bob', 'u = . a . 9', overwritten), 'r - . a . 9')
  t.equal(land('9', stages, 'cid', 'u = . a . 9', overwritten), 'u = . c . u = . a . 9')
  t.equal(land('9', stages, 'cid', 'r - . a . 9', overwritten), 'u = . c . r - . a . 9')
  const apart = ['dan: d 9', 'cid: u = . d c . 9', 'ann: u = . d c . u = . a . 9', 'bob: u = . d c . r - . a . 9']
  t.equal(land('9', apart, 'bob', 'u = . a . 9', `${overwritten} dan`), 'r - . a . 9', 'a change at two places')
  const between = [
    'cid: 1 c . u = . 9',
    'ann: 1 c . r - . 9',
    'dan: 1 c . u = . d . r - . 9',
    'bob: 1 c . s ~ . d . r - . 9'
  ]
  t.equal(land('1 9', between, 'ann', '1 c . u = . 9', overwritten), '1 c . r - . 9')
  t.equal(land('1 9', between, 'dan', '1 c . u = . 9', `${overwritten} dan`), '1 c . u = . d . u = . 9')
  t.equal(land('1 9', between, 'bob', '1 c . u = . d . u = . 9', `${overwritten} dan`), '1 c . s ~ . d . u = . 9')
})

t.test('what one takes away and brings back is as it was, whoever has made it', async (t) => {
  const stashed = ['ann: 1 a 3', 'bob: 1 a 3 b', 'external: 1 2 3', 'external: 1 a 3 b']
  t.equal(land('1 2 3', stashed, 'ann'), '1 a 3')
  t.equal(land('1 2 3', stashed, 'bob'), '1 2 3 b')
  t.equal(land('1 2 3', stashed, 'external'), '1 2 3 unchanged')
  const rebased = [...stashed.slice(0, 3), 'external: 0 1 2 3', 'external: 0 1 a 3 x b']
  t.equal(land('1 2 3', rebased, 'ann', '0 1 2 3'), '0 1 a 3')
  t.equal(land('1 2 3', rebased, 'bob', '0 1 2 3'), '0 1 2 3 b')
  t.equal(land('1 2 3', rebased, 'external', '0 1 2 3'), '0 1 2 3 x')
  t.equal(land('1 2', ['ann: 1 a b 2', 'bob: 1 2', 'bob: 1 x a y b z 2'], 'bob'), '1 x y z 2 (ann)')
  t.equal(land('1 2', ['ann: 1 a 2', 'bob: 1 2', 'cid: 1 a 2'], 'cid'), '1 a 2', 'another one may bring it back, too')
})

t.test('lines of HEAD that a checkout has put back are those of HEAD for all later changes', async (t) => {
  const stages = ['ann: 1 a 3', 'external: 1 2 3', 'bob: 1 b 3', 'cid: 1 b 3 c']
  for (const overwritten of [undefined, 'ann bob cid']) {
    t.equal(land('1 2 3', stages, 'bob', '0 1 2 3', overwritten), '0 1 b 3')
    t.equal(land('1 2 3', stages, 'ann', '0 1 2 3', overwritten), '0 1 2 3 unchanged')
  }
  t.equal(land('1 2 3', ['ann: 1 3', 'external: 1 2 3', 'bob: 1 3'], 'bob'), '1 3')
  t.equal(land('1 2 3', ['ann: 1 a 3', 'bob: 1 2 3', 'cid: 1 c 3'], 'cid'), '1 c 3', 'whoever has put all back')
  t.equal(land('1 2 3', ['ann: 1 a 3', 'external: 1 2 3', 'external: 1 x 3'], 'external'), '1 x 3')
  t.equal(land('1 2 3', ['ann: 1 a 3', 'external: 1 2 3', 'external: 1 x 3'], 'ann'), '1 2 3 unchanged')
  const twice = ['ann: 1 3', 'external: 1 2 3', 'external: 1 3', 'external: 1 2 3', 'external: 1 3 x']
  t.equal(land('1 2 3', twice, 'ann'), '1 3', 'put aside and brought back, twice')
  t.equal(land('1 2 3', twice, 'external'), '1 2 3 x')
})

t.test('nobody is HEAD, all are the file, and each agent alone is what it made beside the others', async (t) => {
  const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
  const random = createRandom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const agents = ['ann', 'bob', 'cid', 'unknown']
  for (let round = 0; round < lengthOf({ short: 300, full: 10_000 }); round += 1) {
    const length = below(30)
    const head = Array.from({ length }, () => `${below(round % 2 === 0 ? 6 : 1000)}`)
    let now = head
    const stages: Stage<string>[] = []
    for (let step = 0; step < 1 + below(12); step += 1) {
      const at = below(now.length + 1)
      const gone = below(4)
      const fresh = Array.from({ length: below(4) }, () => `${below(round % 2 === 0 ? 6 : 1000)}`)
      now = [...now.slice(0, at), ...fresh, ...now.slice(at + gone)]
      stages.push({ change: agents[below(agents.length)]!, lines: now })
    }
    const rules = {
      isSame: (one: string, other: string) => round % 3 !== 0 && one === other,
      restores: (change: string) => round % 4 < 2 && (change === 'unknown' || change === 'cid'),
      countsRestored: round % 5 === 0
    }
    const places: Places = round % 7 === 0 ? 'first' : round % 7 === 1 ? 'mixed' : 'last'
    const log = createLineLog(head, stages, { ...rules, places })
    const some = agents.filter(() => random() < 0.5)
    const half = composeLines(log, { isChosen: (change) => some.includes(change) })
    const [none, all] = [composeLines(log, { isChosen: () => false }), composeLines(log, { isChosen: () => true })]
    if (none.lines.join() !== head.join() || none.isChanged) t.fail(`TEST_SEED=${seed} round ${round}: nobody`)
    if (all.lines.join() !== now.join() || all.dependences.length > 0) t.fail(`TEST_SEED=${seed} round ${round}: all`)
    if (!rules.countsRestored && all.isChanged !== (head.join() !== now.join()))
      t.fail(`TEST_SEED=${seed} round ${round}: a difference`)
    for (const agent of agents) {
      const { lines: own, dependences } = composeLines(log, { isChosen: (change) => change === agent })
      if (dependences.length > 0) continue
      // What is taken is in HEAD or in the file, and what others have made is not.
      const others = composeLines(log, { isChosen: (change) => change !== agent })
      if (others.dependences.length > 0) continue
      const count = (list: readonly string[]) => list.length
      if (count(own) + count(others.lines) !== count(head) + count(now))
        t.fail(`TEST_SEED=${seed} round ${round}: ${agent} and the others are not all`)
    }
    const later = withHead(log, half.lines, 'later', rules)
    if (composeLines(later, { isChosen: () => false }).lines.join() !== half.lines.join())
      t.fail(`TEST_SEED=${seed} round ${round}: nobody beside a later HEAD`)
    if (composeLines(later, { isChosen: () => true }).lines.join() !== now.join())
      t.fail(`TEST_SEED=${seed} round ${round}: all beside a later HEAD`)
  }
  t.pass(`TEST_SEED=${seed}`)
})
