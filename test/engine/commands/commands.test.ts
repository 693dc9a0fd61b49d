// Whose changes are, by when they were made and noticed.
import { realpathSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLookAtFolders } from '../../../src/engine/commands/arrival.ts'
import { createCommands } from '../../../src/engine/commands/commands.ts'
import { maxHeldMs } from '../../../src/engine/commands/held-changes.ts'
import { createFileClock, type FileClock } from '../../../src/engine/commands/file-clock.ts'
import { anyEffect } from '../../../src/engine/commands/open-command.ts'
import type { Unused } from '../../../src/engine/commands/tree-changes.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { createLockManager } from '../../../src/engine/locks/lock-manager.ts'
import { createBases } from '../../../src/engine/versions/bases.ts'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { examine } from '../../../src/engine/watcher/examine.ts'
import { servedDirectory } from '../../../src/tree/state/served-directory.ts'
import { untilFilesAreStampedLater } from '../../fixtures/native-session.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
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

/** @param since what is found of unused files at the end of a command */
function start(
  t: Test,
  { since = async () => [], behindMs = 0 }: { since?: () => Promise<readonly Unused[]>; behindMs?: number } = {}
) {
  const root = realpathSync(makeTree(t, {}).root)
  const path = join(root, 'made.txt')
  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
  const fail = (_fields: object, message: string) => void t.fail(message)
  const log = { debug: fail, info: fail, warn: fail, error: fail, child: () => log }
  const files = createFileStore({
    roots: [root],
    maxFileBytes: 1e6,
    maxSyncBytes: 1e6,
    hardlinks: 'break',
    protectedPaths: []
  })
  const parts = { history, bases: createBases({ maxBytes: 1e9 }), locks: createLockManager(), files }
  const real = createFileClock(files.roots, servedDirectory)
  const clock: FileClock = { ...real, now: () => ({ ...real.now(), at: Date.now() + behindMs }) }
  const commands = createCommands({
    ...parts,
    clock,
    lookAtFolders: createLookAtFolders([root]),
    treeChanges: { look: async () => undefined, since, close: () => {} },
    keepBounds: () => undefined,
    lookMs: () => 0,
    lookAtUsed: async () => {},
    log
  })
  t.teardown(() => commands.close())
  return {
    path,
    history,
    commands,
    begin: (agentId: string) =>
      commands.begin({ agentId, callId: undefined, text: './program', changeSet: agentId, effect: anyEffect }),
    look: () => examine(path, () => false, parts)
  }
}

t.test('a command is remembered until what it has made is logged, however long it takes to find that', async (t) => {
  const found: ((all: readonly Unused[]) => void)[] = []
  const { path, history, commands, begin } = start(t, {
    since: () => new Promise((resolve) => void found.push(resolve))
  })
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

t.test('a file that is emptied while it has its old times is what a command passes through', async (t) => {
  const { path, history, commands, begin, look } = start(t)
  writeFileSync(path, 'one\n')
  await look()
  const carl = await begin('carl')
  const identity = history.known(path)!.identity!
  truncateSync(path)
  // For some milliseconds ext4 and tmpfs show the new size with the times from before.
  history.observe(path, { kind: 'file', hash: hashOf(''), identity: { ...identity, size: 0n } })
  writeFileSync(path, 'one\ntwo\n')
  await commands.end(carl)
  const made = history.versions(path).map(({ agentId, agents, hash }) => ({ agentId, agents, hash }))
  t.strictSame(made, [
    { agentId: 'external', agents: undefined, hash: hashOf('one\n') },
    { agentId: 'carl', agents: undefined, hash: hashOf('one\ntwo\n') }
  ])
})

t.test(
  'a file that a command has emptied is no version when another command begins before it is written',
  async (t) => {
    const { path, history, commands, begin, look } = start(t)
    writeFileSync(path, 'one\n')
    await look()
    const carl = await begin('carl')
    truncateSync(path)
    await look()
    const dora = await begin('dora')
    writeFileSync(path, 'one\ntwo\n')
    await look()
    await commands.end(carl)
    await commands.end(dora)
    t.match(history.versions(path), [{ agentId: 'external' }, { agentId: 'carl', agents: ['carl', 'dora'] }])
    t.equal(history.versions(path).length, 2)
  }
)

t.test(
  'what another program has changed is a version of its own if the system notices it while a command begins',
  async (t) => {
    const { path, history, commands, begin, look } = start(t)
    writeFileSync(path, 'one\n')
    await look()
    await commands.end(await begin('carl'))
    writeFileSync(path, 'two\n')
    const noticed = new Promise<void>((resolve) => setImmediate(() => resolve(commands.touch(path))))
    const anna = await begin('anna')
    await noticed
    writeFileSync(path, 'three\n')
    commands.touch(path)
    await commands.end(anna)
    const made = history.versions(path).map(({ agentId, agents, hash }) => ({ agentId, agents, hash }))
    t.match(made.at(-2), { agentId: 'carl', agents: ['carl', 'external'], hash: hashOf('two\n') })
    t.strictSame(made.at(-1), { agentId: 'anna', agents: undefined, hash: hashOf('three\n') })
  }
)

t.test('a file system whose clock is far behind changes no author', async (t) => {
  const { path, history, commands, begin, look } = start(t, { behindMs: 300 })
  writeFileSync(path, 'one\n')
  await look()
  for (const agent of ['anna', 'bob']) {
    const command = await begin(agent)
    writeFileSync(path, `${agent}\n`)
    await look()
    await commands.end(command)
    t.match(history.last(path), { agentId: agent, agents: undefined, hash: hashOf(`${agent}\n`) })
  }
  writeFileSync(path, 'a person\n')
  await look()
  t.ok(history.last(path)?.agents?.includes('external'), 'shortly after the end of a command, anyone')
})
