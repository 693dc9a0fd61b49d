// What a command on a layer has written, taken over: 1,000 changed files, beside copying and syncing them, over the files or in their place.
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { post } from '../../test/fixtures/processes.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { withOwner, type Owner } from '../owner.ts'
import { median, medianRatio } from '../statistics.ts'
import { figure, printTable } from '../table.ts'

const files = 1000
const folders = 20
const rounds = 5

const names = Array.from({ length: files }, (_, index) => `folder-${index % folders}/file-${index}.txt`)
const textOf = (name: string, round: number) => `${name} ${round}\n`.repeat(200)

export async function isolated(): Promise<void> {
  console.log(`\n## isolated: ${files} files of 5 KB that a command on a layer has changed`)
  await withOwner(measure)
}

async function measure(owner: Owner): Promise<void> {
  const { root } = makeTree(owner, Object.fromEntries(names.map((name) => [name, textOf(name, 0)])))
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { stdio: 'ignore' })
  git('init')
  git('add', '.')
  const { url } = await startProgram(owner, ['--dir', root])
  const beside = mkdtempSync(join(tmpdir(), 'async-crud-mcp-copies-'))
  owner.teardown(() => rmSync(beside, { recursive: true, force: true }))
  const target = join(beside, 'target')
  writeAll(target, 0)
  const times = {
    each: [] as number[],
    together: [] as number[],
    replaced: [] as number[],
    end: [] as number[],
    apply: [] as number[]
  }
  for (let round = 1; round <= rounds; round += 1) {
    const source = join(beside, String(round))
    writeAll(source, round)
    times.each.push(await timed(() => copyAndSync(source, target)))
    times.together.push(await timed(() => copyThenSync(source, target)))
    times.replaced.push(await timed(() => replaceThenSync(source, target)))
    // As the overlay of the command would: the rest of a run does not depend on how many files it has changed.
    const { layer, folder } = await call(url, 'layer_begin', { command: 'bench', pid: process.pid, agent_id: 'ann' })
    writeAll(join(String(folder), '0', 'upper'), round)
    times.end.push(await timed(() => call(url, 'layer_end', { layer, exit_code: 0 })))
    times.apply.push(await timed(() => call(url, 'layer_apply', { layer })))
  }
  const both = times.end.map((ms, round) => ms + times.apply[round]!)
  printTable(
    `${files} changed files`,
    ['taken', 'ms', 'taken over, as a multiple'],
    [
      ['copied, each synced', figure(median(times.each)), figure(medianRatio(both, times.each))],
      ['copied, all synced at once', figure(median(times.together)), figure(medianRatio(both, times.together))],
      [
        'copied beside, all synced at once, renamed',
        figure(median(times.replaced)),
        figure(medianRatio(both, times.replaced))
      ],
      ['layer_end', figure(median(times.end)), '-'],
      ['layer_apply', figure(median(times.apply)), '-']
    ]
  )
}

function writeAll(folder: string, round: number): void {
  for (const name of names) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, textOf(name, round))
  }
}

/** As a careful script would: each file is durable before the next one. */
function copyAndSync(source: string, target: string): void {
  for (const name of names) {
    copyFileSync(join(source, name), join(target, name))
    sync(join(target, name))
  }
  for (const folder of foldersOf(target)) sync(folder)
}

/** As fast as it can be done: all are copied, then all are synced at once. */
async function copyThenSync(source: string, target: string): Promise<void> {
  for (const name of names) copyFileSync(join(source, name), join(target, name))
  await syncAll(target, names)
}

/** As fast as it can be done if no file may ever be there in part: what each of them gets is a new file. */
async function replaceThenSync(source: string, target: string): Promise<void> {
  const temporary = (name: string) => `${name}.new`
  for (const name of names) copyFileSync(join(source, name), join(target, temporary(name)))
  await syncAll(target, names.map(temporary))
  for (const name of names) renameSync(join(target, temporary(name)), join(target, name))
  for (const folder of foldersOf(target)) sync(folder)
}

async function syncAll(target: string, all: readonly string[]): Promise<void> {
  await Promise.all(all.map((name) => syncLater(join(target, name))))
  for (const folder of foldersOf(target)) sync(folder)
}

function foldersOf(target: string): Set<string> {
  return new Set(names.map((name) => dirname(join(target, name))))
}

function sync(path: string): void {
  const fd = openSync(path, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

async function syncLater(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync()
  await file.close()
}

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function call(url: string, name: string, input: object): Promise<Record<string, unknown>> {
  const answer = await post(url, name, input)
  if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer).slice(0, 1000))
  return answer
}
