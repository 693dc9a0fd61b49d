// Three-way merges off the event loop against `git merge-file` on the same texts, and texts too unlike to merge.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createDiffer, type Differ } from '../../src/engine/diff/differ.ts'
import type { MergeResult } from '../../src/engine/diff/merge-result.ts'
import type { ThreeTexts } from '../../test/fixtures/git-merges.ts'
import { withOwner, type Owner } from '../owner.ts'
import { sourceLines } from '../sources.ts'
import { median } from '../statistics.ts'
import { figure, printTable, type Row } from '../table.ts'

const rounds = 15
const lineCount = 10_000
const changes = 500

export async function merge(): Promise<void> {
  console.log('\n## merge: three-way merges, against `git merge-file` on the same files')
  await withOwner(async (owner) => {
    const differ = createDiffer({ timeoutMs: 2_000, inlineMaxBytes: -1 })
    owner.teardown(() => differ.close())
    const rows = []
    for (const [name, texts] of Object.entries(scattered())) rows.push(await compareWithGit(owner, differ, name, texts))
    const head = ['10,000 lines', 'ours ms', 'git ms', 'git, start alone', 'ours / git', 'loop delay max ms', 'outcome']
    printTable(`${changes} scattered changes on each side, medians of ${rounds}`, head, rows)
    const unlike = await hopeless(differ)
    printTable('three unlike texts of 10 MB, bound 2,000 ms', ['', 'ms', 'loop delay max ms', 'outcome'], unlike)
  })
}

/** Changes of one side never touch those of the other; in the second pair every tenth one does. */
function scattered(): Record<string, ThreeTexts> {
  const lines = sourceLines(lineCount)
  const step = lineCount / changes
  const side = (name: string, offset: number, isAt: (index: number) => boolean = () => false) => {
    const changed = lines.map((line, index) => {
      const number = Math.floor(index / step)
      const at = isAt(number) ? 0 : offset
      if (index % step !== at) return line
      // Most are modifications; some insert a line, some delete one.
      if (number % 5 === 3) return `${line}  const added${name}${number} = true\n`
      return number % 5 === 4 ? '' : `  const changed${name}${number} = compute(${index})\n`
    })
    return changed.join('')
  }
  const base = lines.join('')
  return {
    'apart from each other': { base, current: side('A', 0), incoming: side('B', step / 2) },
    'every tenth collides': {
      base,
      current: side('A', 0),
      incoming: side('B', step / 2, (number) => number % 10 === 0)
    }
  }
}

async function compareWithGit(owner: Owner, differ: Differ, name: string, texts: ThreeTexts): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'async-crud-mcp-bench-'))
  owner.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(folder, file), text as string)
  const samples: { ours: number; git: number; start: number; delay: number }[] = []
  let result: MergeResult | undefined
  let merged: string | undefined
  // The first round starts the thread, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    const measured = await watchLoop(async () => (result = await differ.merge({ ...texts })))
    const git = time(() => {
      const options = { cwd: folder, encoding: 'utf8' as const, maxBuffer: 1e8 }
      const { status, stdout } = spawnSync('git', ['merge-file', '-p', 'current', 'base', 'incoming'], options)
      merged = status === 0 ? stdout : undefined
    })
    const start = time(() => execFileSync('git', ['--version']))
    if (round > 0) samples.push({ ours: measured.ms, git, start, delay: measured.delayMs })
  }
  if (result === undefined || ('text' in result ? result.text : undefined) !== merged) {
    throw new Error(`${name}: not what git makes of it`)
  }
  const of = (pick: (sample: (typeof samples)[number]) => number) => median(samples.map(pick))
  return [
    name,
    figure(of(({ ours }) => ours)),
    figure(of(({ git }) => git)),
    figure(of(({ start }) => start)),
    figure(of(({ ours, git }) => ours / git)),
    figure(Math.max(...samples.map(({ delay }) => delay))),
    outcomeOf(result)
  ]
}

async function hopeless(differ: Differ): Promise<Row[]> {
  const bytes = 10 * 1024 * 1024
  const lines = sourceLines(bytes / 32)
  const rows: Row[] = []
  const mixed = (seed: number) => {
    let state = seed
    const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0)
    return Array.from({ length: lines.length }, () => lines[next() % lines.length]!)
      .join('')
      .slice(0, bytes)
  }
  const own = (word: string) =>
    Array.from({ length: bytes / 32 }, (_, at) => `${word} ${at} ${'x'.repeat(16)}\n`).join('')
  const cases: Record<string, ThreeTexts> = {
    'the same lines in other orders': { base: mixed(1), current: mixed(2), incoming: mixed(3) },
    'no line in common': { base: own('base'), current: own('current'), incoming: own('incoming') }
  }
  for (const [name, texts] of Object.entries(cases)) {
    let result: MergeResult | undefined
    const { ms, delayMs } = await watchLoop(async () => (result = await differ.merge({ ...texts })))
    rows.push([name, figure(ms), figure(delayMs), result === undefined ? 'none' : outcomeOf(result)])
  }
  return rows
}

function outcomeOf(result: MergeResult): string {
  if ('text' in result) return 'merged, as by git'
  const count = result.conflicts.length + result.further
  return `${count} ${count === 1 ? 'conflict' : 'conflicts'}${result.coarse ? ', coarse' : ''}`
}

function time(run: () => void): number {
  const start = performance.now()
  run()
  return performance.now() - start
}

/** How long it took, and for how long at most the event loop did nothing else. */
async function watchLoop(run: () => Promise<unknown>): Promise<{ ms: number; delayMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const start = performance.now()
  await run()
  const ms = performance.now() - start
  // The last delay is noted at the next turn.
  await new Promise((resolve) => setTimeout(resolve, 5))
  delay.disable()
  return { ms, delayMs: delay.max / 1e6 }
}
