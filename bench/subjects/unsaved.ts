// What it costs to keep the files that differ from HEAD, beside `git status` on the same tree; to look at all files in use; and to judge a
// command that is harmless.
import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { keepUnsaved } from '../../src/engine/commands/keep-unsaved.ts'
import { lookAgain } from '../../src/engine/watcher/look-again.ts'
import { parseCommand } from '../../src/operations/commands/command-line.ts'
import { plansOf } from '../../src/operations/discards/plans.ts'
import { listUnsaved } from '../../src/support/project/unsaved.ts'
import { startServer } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { percentile } from '../statistics.ts'
import { figure, printTable, whole } from '../table.ts'

const rounds = 9
const changed = 100
const used = 10_000
const perFolder = 100
const bounds = { maxFiles: 5000, maxBytes: 67_108_864, maxFileBytes: 10_485_760 }
const harmless = 'cd packages/a && npm run build 2>&1 | tail -20 && git status --short && git diff HEAD -- src/*.ts'
const lines = 10_000

export async function unsaved({ files }: Options): Promise<void> {
  const rows: string[][] = []
  for (const count of files === undefined ? [10_000, 200_000] : [files]) rows.push(await measure(count))
  printTable(
    `keeping ${changed} files that differ from HEAD, milliseconds`,
    ['files', 'git status', 'first time', 'again', 'first, of git status', 'again, of git status'],
    rows
  )
  const inUse = await measureInUse()
  printTable(
    `looking at all ${whole(used)} files in use, before the first command, milliseconds`,
    ['changed', 'took'],
    inUse
  )
  const judge = () => plansOf(parseCommand(harmless, '/tree')!)
  for (let at = 0; at < lines; at += 1) judge()
  const begun = performance.now()
  for (let at = 0; at < lines; at += 1) judge()
  printTable(
    'judging a harmless command, microseconds of the main thread',
    ['command', 'each'],
    [[harmless, figure(((performance.now() - begun) / lines) * 1000)]]
  )
}

function measure(count: number): Promise<string[]> {
  return withOwner(async (owner) => {
    const tree = makeTree(owner)
    const root = realpathSync(tree.root)
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args])
    const name = (at: number) => `d${Math.floor(at / perFolder)}/f${at}.txt`
    for (let at = 0; at < count; at += 1) tree.write(name(at), `file ${at}\n`)
    git('init', '--quiet')
    git('add', '--all')
    git('commit', '--quiet', '--message=all')
    const step = Math.floor(count / changed)
    for (let at = 0; at < changed; at += 1)
      tree.write(at % 2 === 0 ? name(at * step) : `d0/new${at}.txt`, `line of a file\n`.repeat(200))
    const { app } = await startServer(owner, root, { hooks: { git: 'off' } })
    const { locks, files, bases, history } = app
    const keep = async () => {
      const found = await listUnsaved(root, { signal: AbortSignal.timeout(600_000) })
      await keepUnsaved(found!.files.keys(), { locks, files, bases, history }, bounds)
    }
    const status: number[] = []
    const again: number[] = []
    git('status', '--porcelain', '--untracked-files=all')
    const first = await timed(keep)
    for (let round = 0; round < rounds; round += 1) {
      status.push(await timed(async () => void git('status', '--porcelain', '--untracked-files=all')))
      again.push(await timed(keep))
    }
    const [bare, later] = [percentile(status, 50), percentile(again, 50)]
    return [whole(count), figure(bare), figure(first), figure(later), figure(first / bare), figure(later / bare)]
  })
}

/** What the first command waits for: all files in use are looked at once. */
function measureInUse(): Promise<string[][]> {
  return withOwner(async (owner) => {
    const tree = makeTree(owner)
    const root = realpathSync(tree.root)
    const names = Array.from({ length: used }, (_, at) => `d${Math.floor(at / perFolder)}/f${at}.txt`)
    for (const name of names) tree.write(name, `${name}\n`)
    const { app } = await startServer(owner, root, { hooks: { git: 'off' }, watcher: { enabled: false } })
    const { locks, files, bases, history, settings } = app
    const parts = { locks, files, bases, history }
    const paths = names.map((name) => join(root, name))
    await keepUnsaved(paths, parts, { ...bounds, maxFiles: used })
    const look = () => lookAgain(parts, settings.current.watcher.bulk_files, new AbortController().signal)
    await look()
    const none: number[] = []
    const some: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      none.push(await timed(look))
      for (const name of names.slice(0, changed)) tree.write(name, `${name} ${round}\n`)
      some.push(await timed(look))
    }
    return [
      ['0', figure(percentile(none, 50))],
      [whole(changed), figure(percentile(some, 50))]
    ]
  })
}

async function timed(act: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await act()
  return performance.now() - begun
}
