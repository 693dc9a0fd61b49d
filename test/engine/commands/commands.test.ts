// What is kept of commands that have ended.
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCommands, maxHeldMs } from '../../../src/engine/commands/commands.ts'
import { anyEffect } from '../../../src/engine/commands/open-command.ts'
import type { Unused } from '../../../src/engine/commands/tree-changes.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { createLockManager } from '../../../src/engine/locks/lock-manager.ts'
import { createBases } from '../../../src/engine/versions/bases.ts'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { untilFilesAreStampedLater } from '../../fixtures/native-session.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

/** The clock of the wall can be put forward, and what is to happen when a command is old happens when the test says so. */
function takeOverTime(t: Test) {
  const { setTimeout: set } = globalThis
  const { now } = Date
  const due: (() => void)[] = []
  let aheadMs = 0
  t.teardown(() => Object.assign(globalThis, { setTimeout: set }) && Object.assign(Date, { now }))
  Object.assign(Date, { now: () => now() + aheadMs })
  Object.assign(globalThis, {
    setTimeout: (callback: () => void, ms: number) => {
      if (ms !== maxHeldMs) return set(callback, ms)
      due.push(callback)
      return set(() => {}, 0)
    }
  })
  return {
    pass(ms: number): void {
      aheadMs += ms
    },
    ring: () => due.splice(0).forEach((callback) => callback())
  }
}

t.test('a command is remembered until what it has made is logged, however long it takes to find that', async (t) => {
  const root = realpathSync(makeTree(t, {}).root)
  const path = join(root, 'made.txt')
  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
  const fail = (_fields: object, message: string) => void t.fail(message)
  const log = { debug: fail, info: fail, warn: fail, error: fail, child: () => log }
  const found: ((all: readonly Unused[]) => void)[] = []
  const commands = createCommands({
    history,
    bases: createBases({ maxBytes: 1e9 }),
    locks: createLockManager(),
    files: createFileStore({
      roots: [root],
      maxFileBytes: 1e6,
      maxSyncBytes: 1e6,
      hardlinks: 'break',
      protectedPaths: []
    }),
    treeChanges: {
      look: async () => undefined,
      since: () => new Promise((resolve) => void found.push(resolve)),
      close: () => {}
    },
    keepBounds: () => undefined,
    lookMs: () => 0,
    lookAtUsed: async () => {},
    log
  })
  t.teardown(() => commands.close())
  const begin = (agentId: string) =>
    commands.begin({ agentId, callId: undefined, text: './program', changeSet: agentId, effect: anyEffect })
  const time = takeOverTime(t)
  const before = commands.end(await begin('carl'))
  await until(() => found.length === 1)
  found[0]!([])
  await before
  const [anna, dora] = [await begin('anna'), await begin('dora')]
  await untilFilesAreStampedLater(Date.now())
  writeFileSync(path, 'made\n')
  const annas = commands.end(anna)
  await until(() => found.length === 2)
  time.pass(maxHeldMs - 1000)
  const doras = commands.end(dora)
  await until(() => found.length === 3)
  time.pass(2000)
  time.ring()
  for (const resolve of found.slice(1)) resolve([{ path, wasThere: false }])
  await Promise.all([annas, doras])
  t.match(history.last(path), { agentId: 'anna', agents: ['anna', 'dora'] })
})
