// From which versions a command on a layer may have started: by the log, and by times as far as they tell an order.
import t from 'tap'
import type { Found, Layer, LayerEnd } from '../../../src/engine/layers/layers.ts'
import type { Version } from '../../../src/engine/versions/version.ts'
import type { PathState } from '../../../src/operations/layer/path-state.ts'
import { possibleBases } from '../../../src/operations/layer/possible-bases.ts'

const path = '/tree/a.txt'
const [startedAt, writtenAt] = [10_000, 20_000]
const [first, second, third] = ['first', 'second', 'third'].map((hash): PathState => ({ hash }))

function made(seq: number, hash: string | null, changedAt?: number, more: Partial<Version> = {}): Version {
  const author = { agentId: 'bob', operation: 'async_update' }
  return { ...author, hash, isFirstSight: false, at: 0, seq, ...(changedAt !== undefined && { changedAt }), ...more }
}

function basesOf(
  versions: readonly Version[],
  found: Found | undefined,
  { end = {}, dev = 1n, written = writtenAt }: { end?: Partial<LayerEnd>; dev?: bigint; written?: number } = {}
) {
  const all = found === undefined ? {} : { [path]: found }
  const layer: Pick<Layer, 'seq' | 'startedAt' | 'dev' | 'end'> = {
    seq: 10,
    startedAt,
    dev: 1n,
    end: { at: 0, exitCode: 0, seq: 20, isClockSetBack: false, hidden: [], found: all, ...end }
  }
  return possibleBases({ path, writtenAt: written }, { versions, dev }, layer)
}

const was = made(5, 'first', 5000)

t.test(
  'a version that was made after the last write of the command was not read by it, by whatever moment',
  async (t) => {
    const found = (changedAt: number) => ({ state: second!, changedAt })
    const after = (changedAt: number) => basesOf([was, made(12, 'second', changedAt)], found(changedAt))
    t.strictSame(after(writtenAt + 1), [first])
    t.strictSame(after(writtenAt), [first, second], 'at the same time')
    t.strictSame(after(writtenAt - 1), [first, second])
    t.strictSame(basesOf([was, made(12, 'second')], found(writtenAt + 1)), [first, second], 'of an unknown time')
  }
)

t.test('every version before the last write may have been read', async (t) => {
  const versions = [was, made(12, 'second', 15_000), made(14, 'third', 16_000), made(15, 'first', 17_000)]
  t.strictSame(basesOf(versions, { state: first!, changedAt: 17_000 }), [first, second, third])
  const removed = [was, made(12, null), made(13, 'second', 30_000)]
  t.strictSame(basesOf(removed, { state: second!, changedAt: 30_000 }), [first, null])
  t.strictSame(basesOf(removed, { state: second!, changedAt: 30_000 }, { written: Infinity }), [first, null, second])
})

t.test('what came after the end was not read, unless it was there at the end and logged behind it', async (t) => {
  const late = [was, made(21, 'second', 15_000)]
  t.strictSame(basesOf(late, { state: first!, changedAt: 15_000 }), [first])
  t.strictSame(basesOf(late, { state: second!, changedAt: 15_000 }), [first, second])
  t.strictSame(basesOf([was], { state: second!, changedAt: 30_000 }), [first, second], 'found, and never logged')
})

t.test('a file that is older than the command has one base, whatever is known of it', async (t) => {
  const old = { state: first!, changedAt: startedAt - 1 }
  t.strictSame(basesOf([], old), [first])
  t.strictSame(basesOf([made(12, 'first', startedAt - 1, { isFirstSight: true })], old), [first])
  t.equal(basesOf([], { ...old, changedAt: startedAt }), undefined)
  t.equal(basesOf([made(12, 'first', startedAt, { isFirstSight: true })], { ...old, changedAt: startedAt }), undefined)
})

t.test('the base of a file that nobody knew and that has changed since is not known', async (t) => {
  t.equal(basesOf([], { state: first!, changedAt: 15_000 }), undefined)
  t.equal(basesOf([made(12, 'second', 15_000)], { state: second!, changedAt: 15_000 }), undefined)
  t.equal(basesOf([was], undefined), undefined, 'could not be looked at')
  t.equal(basesOf([was, made(12, null, undefined, { isUnread: true })], { state: null }), undefined, 'was not read')
  t.strictSame(basesOf([], { state: null }), [null], 'nothing was there')
  const created = made(12, 'second', 25_000, { isCreated: true })
  t.strictSame(basesOf([created], { state: second!, changedAt: 25_000 }), [null])
})

t.test('times of another file system, or of a clock that was set back, tell no order', async (t) => {
  const versions = [was, made(12, 'second', writtenAt + 1)]
  const found = { state: second!, changedAt: writtenAt + 1 }
  t.strictSame(basesOf(versions, found, { dev: 2n }), [first, second])
  t.strictSame(basesOf(versions, found, { end: { isClockSetBack: true } }), [first, second])
  const old = { state: first!, changedAt: startedAt - 1 }
  t.equal(basesOf([], old, { dev: 2n }), undefined)
  t.strictSame(basesOf([], { ...old, changedAt: startedAt - 2001 }, { dev: 2n }), [first])
  t.equal(basesOf([], { ...old, changedAt: 0 }, { end: { isClockSetBack: true } }), undefined)
})
