// Real commits replayed as agents that work at the same time: what lands in one call, what it costs, and whether git agrees.
import { basename } from 'node:path'
import { gitMergeMinimal, gitMerges, replayCases, type ReplayCase } from '../../test/fixtures/git-merges.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../test/fixtures/tree.ts'
import { installed } from '../../src/support/installation.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { sum } from '../statistics.ts'
import { percent, printTable, whole, type Row } from '../table.ts'
import { countTokens, tokenRule } from '../tokens.ts'

const commits = 300
/** How many changes of others an agent does not know of. */
const distances = [1, 3]

interface Outcome {
  readonly replayed: ReplayCase
  readonly landed: boolean
  /** The file afterwards. */
  readonly text: string
  /** What the agent is answered, and what it would read if it read the file again instead. */
  readonly answer: string
  readonly reread: string
}

/** The argument is the repository whose history is replayed; by default this one. */
export async function replay({ argument: repository = installed('') }: Options): Promise<void> {
  console.log(
    `\n## replay: the last ${commits} commits of a repository, each made by an agent that does not know of others' changes`
  )
  console.log(`\n${tokenRule}`)
  const rows: Row[] = []
  const checks: Row[] = []
  for (const distance of distances) {
    const cases = replayCases(repository, commits, distance)
    if (cases.length === 0) throw new Error(`${repository} has no history to replay`)
    const outcomes = await withOwner(async (owner) => {
      const tree = makeTree(owner)
      const { url } = await startProgram(owner, ['--dir', tree.root])
      const done: Outcome[] = []
      for (const [index, replayed] of cases.entries()) done.push(await replayOne(url, tree, index, replayed))
      return done
    })
    rows.push(costsOf(distance, outcomes))
    checks.push(compareWithGit(distance, outcomes))
  }
  const head = [
    'unknown changes',
    'commits',
    'files',
    'landed',
    'of',
    'answer bytes',
    'of re-reading',
    'tokens',
    'of re-reading'
  ]
  printTable('on_contention "merge", through the server', head, rows)
  const checkHead = [
    'unknown changes',
    'both clean',
    'the same bytes',
    'only git clean',
    'only ours clean',
    'of these as by git minimal',
    'neither clean'
  ]
  printTable('against git merge-file', checkHead, checks)
}

/** One agent has read the base; another changes the file; the first one's change comes then. */
async function replayOne(url: string, tree: Tree, index: number, replayed: ReplayCase): Promise<Outcome> {
  const { base, current, incoming } = replayed
  const path = `${index}/${basename(replayed.path)}`
  await post(url, 'other', 'async_write', { path, content: base })
  await post(url, 'agent', 'async_read', { path })
  await post(url, 'other', 'async_update', { path, expected_hash: hashOf(base), content: current })
  const change = { path, expected_hash: hashOf(base), content: incoming, on_contention: 'merge' }
  const answer = await post(url, 'agent', 'async_update', change)
  const text = tree.read(path)
  const reread = await post(url, 'agent', 'async_read', { path })
  const landed = answer.startsWith('{"status":"ok"')
  if (!landed && (!answer.startsWith('{"status":"contention"') || text !== current))
    throw new Error(answer.slice(0, 500))
  return { replayed, landed, text, answer, reread }
}

async function post(url: string, agent: string, name: string, input: object): Promise<string> {
  const headers = { 'content-type': 'application/json', 'x-agent-id': agent }
  const response = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
  return await response.text()
}

function costsOf(distance: number, outcomes: readonly Outcome[]): Row {
  const landed = outcomes.filter((outcome) => outcome.landed).length
  const bytes = (pick: 'answer' | 'reread') => sum(outcomes.map((outcome) => Buffer.byteLength(outcome[pick])))
  const tokens = (pick: 'answer' | 'reread') => sum(outcomes.map((outcome) => countTokens(outcome[pick])))
  return [
    String(distance),
    whole(new Set(outcomes.map(({ replayed }) => replayed.commit)).size),
    whole(outcomes.length),
    whole(landed),
    percent(landed / outcomes.length),
    whole(bytes('answer')),
    percent(bytes('answer') / bytes('reread')),
    whole(tokens('answer')),
    percent(tokens('answer') / tokens('reread'))
  ]
}

function compareWithGit(distance: number, outcomes: readonly Outcome[]): Row {
  const merged = gitMerges(outcomes.map(({ replayed }) => replayed))
  const both = outcomes.filter(({ landed }, index) => landed && merged[index] !== undefined)
  const same = outcomes.filter(({ landed, text }, index) => landed && merged[index] === text)
  const onlyGit = outcomes.filter(({ landed }, index) => !landed && merged[index] !== undefined)
  const onlyOurs = outcomes.filter(({ landed }, index) => landed && merged[index] === undefined)
  const shown = onlyOurs.filter(({ replayed, text }) => gitMergeMinimal(replayed) === text)
  if (same.length < both.length || shown.length < onlyOurs.length) process.exitCode = 1
  const neither = outcomes.length - both.length - onlyGit.length - onlyOurs.length
  const counts = [both, same, onlyGit, onlyOurs, shown].map(({ length }) => whole(length))
  return [String(distance), ...counts, whole(neither)]
}
