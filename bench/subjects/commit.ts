// What landing one agent's files takes, beside `git commit -a` of the same files; without hooks and tests.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { post } from '../../test/fixtures/processes.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { hashOf, makeTree } from '../../test/fixtures/tree.ts'
import { withOwner, type Owner } from '../owner.ts'
import { median, medianRatio } from '../statistics.ts'
import { figure, printTable } from '../table.ts'

const all = 2000
const changed = 200
const rounds = 7

const names = Array.from({ length: all }, (_, index) => `folder-${index % 40}/file-${index}.txt`)
const textOf = (name: string, round: number) => `${name}\n`.repeat(100) + `round ${round}\n`

export async function commit(): Promise<void> {
  console.log(`\n## commit: ${changed} of ${all} files, landed for one agent`)
  await withOwner(measure)
}

async function measure(owner: Owner): Promise<void> {
  const { root } = makeTree(owner, Object.fromEntries(names.map((name) => [name, textOf(name, 0)])))
  const gitIn =
    (folder: string) =>
    (...args: string[]) =>
      execFileSync('git', ['-C', folder, '-c', 'user.name=ann', '-c', 'user.email=ann@example.org', ...args], {
        stdio: 'ignore'
      })
  const git = gitIn(root)
  git('init')
  git('config', 'user.name', 'ann')
  git('config', 'user.email', 'ann@example.org')
  git('add', '.')
  git('commit', '--message=all')
  const beside = mkdtempSync(join(tmpdir(), 'async-crud-mcp-clone-'))
  owner.teardown(() => rmSync(beside, { recursive: true, force: true }))
  const gitBeside = gitIn(beside)
  gitBeside('clone', root, '.')
  const { url } = await startProgram(owner, ['--dir', root])
  const call = async (name: string, input: object) => {
    const answer = await post(url, name, input)
    if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
  }
  const times = { land: [] as number[], commit: [] as number[] }
  for (let round = 1; round <= rounds; round += 1) {
    for (const path of names.slice(0, changed)) {
      const content = textOf(path, round)
      const expected_hash = hashOf(textOf(path, round - 1))
      await call('async_update', { path, content, expected_hash, agent_id: 'ann' })
      writeFileSync(join(beside, path), content)
    }
    times.land.push(await timed(() => call('land', { agent: 'ann', message: 'landed' })))
    times.commit.push(await timed(() => void gitBeside('commit', '--all', '--no-verify', '--message=all')))
  }
  printTable(
    `${changed} changed files`,
    ['by', 'ms', 'of git commit -a'],
    [
      ['git commit -a', figure(median(times.commit)), figure(1)],
      ['land', figure(median(times.land)), figure(medianRatio(times.land, times.commit))]
    ]
  )
}

async function timed(act: () => unknown): Promise<number> {
  const begun = performance.now()
  await act()
  return performance.now() - begun
}
