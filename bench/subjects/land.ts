// Public histories replayed: eight commits at a time are made as eight agents' edits in one tree, mixed at random, and then landed again.
import { isUtf8 } from 'node:buffer'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { splitLines } from '../../src/engine/diff/lines.ts'
import { createLineLog } from '../../src/operations/land/line-log.ts'
import type { Hunk, Line } from '../../src/operations/land/logged-line.ts'
import { installed } from '../../src/support/installation.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { createRandom, type Random } from '../../test/fixtures/random.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { until } from '../../test/fixtures/until.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { percent, printTable, whole, type Row } from '../table.ts'

const usualCommits = 400
const atOnce = 8
/** The log of HEAD counts in seconds, and some file systems in pairs of them, which the server takes into account for all. */
const grainMs = 3000
/** Each hunk is an edit here, and what the log has forgotten is nobody's: a file is to have more versions than there are hunks. */
const environment = { ASYNC_CRUD_MCP_CRUD__MAX_FILE_VERSIONS: '10000' }

/** One step of an agent: a file as it is behind it. */
interface Edit {
  readonly agent: number
  readonly path: string
  /** Undefined if the file is removed. */
  readonly bytes: Buffer | undefined
  /** Its mode behind it, if that is another one. */
  readonly mode?: number
}

interface Counts {
  commits: number
  same: number
  /** Of those that landed otherwise: its lines at their places, which Git shows in other hunks, as others have not landed or landed before. */
  exact: number
  other: number
  foreign: number
  refused: number
  /** Of those that were refused: what they made is not in the tree, since another one took all of it back or landed the end of their files. */
  gone: number
  /** Of those that were refused: the reason is not true. */
  untrue: number
  unclean: number
  edits: number
}

/** The argument names repositories, by commas; by default this one. */
export async function land({ argument = installed(''), commits = usualCommits }: Options): Promise<void> {
  console.log(
    `\n## land: the last ${commits} commits of a repository, ${atOnce} at a time, as agents in one tree, and landed out of it`
  )
  const rows: Row[] = []
  for (const repository of argument.split(',')) {
    const start = performance.now()
    const counts = await replay(repository, commits)
    const seconds = (performance.now() - start) / 1000
    rows.push([
      basename(repository === '' ? 'this one' : basename(repository) === 'repo' ? dirname(repository) : repository),
      whole(counts.commits),
      whole(counts.edits),
      percent(counts.same / counts.commits),
      whole(counts.same),
      whole(counts.other),
      whole(counts.exact),
      whole(counts.refused),
      whole(counts.gone),
      whole(counts.untrue),
      whole(counts.foreign),
      whole(counts.unclean),
      whole(seconds)
    ])
  }
  const head = [
    'repository',
    'commits',
    'edits',
    'landed as they were',
    'of them',
    'landed otherwise',
    'of them the same lines at the same places',
    'refused',
    'of them taken back by others',
    'of them for no true reason',
    'with lines of others',
    'trees that differ from HEAD',
    'seconds'
  ]
  printTable('each by operations, native edits and commands, in random order', head, rows)
}

async function replay(repository: string, commits: number): Promise<Counts> {
  const counts: Counts = {
    commits: 0,
    same: 0,
    exact: 0,
    other: 0,
    foreign: 0,
    refused: 0,
    gone: 0,
    untrue: 0,
    unclean: 0,
    edits: 0
  }
  const seed = Number(process.env['BENCH_SEED'] ?? 1)
  const only = process.env['BENCH_WINDOW']?.split(',')
  await withOwner(async (owner) => {
    const { root } = makeTree(owner)
    const git = gitIn(root)
    execFileSync('git', ['clone', '-q', '--shared', '--no-checkout', repository, root])
    git('config', 'user.name', 'Name')
    git('config', 'user.email', 'name@example.org')
    const windows = windowsOf(git, commits)
    git('checkout', '-q', '--detach', windows[0]!.base)
    const { url } = await startProgram(owner, ['--dir', root], environment)
    for (const [index, one] of windows.entries()) {
      windowCount = index + 1
      if (only !== undefined && !only.includes(String(windowCount))) continue
      // Each window is the same whether or not those before it are replayed.
      const random = createRandom(seed * 100_003 + windowCount)
      await replayWindow({ url, root, git, random, counts }, one)
    }
  })
  return counts
}

type Git = ReturnType<typeof gitIn>

function gitIn(root: string) {
  const maxBuffer = 1024 * 1024 * 1024
  const run = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', maxBuffer }).trim()
  const bytes = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { maxBuffer })
  return Object.assign(run, { bytes })
}

interface Window {
  readonly base: string
  readonly commits: readonly string[]
}

/** Commits that follow one another, the oldest window first. */
function windowsOf(git: Git, wanted: number): Window[] {
  const lines = git('log', '--first-parent', '--no-merges', '--format=%H %P', `-n${wanted}`, 'HEAD').split('\n')
  const chain = lines.map((line) => line.split(' ')).reverse()
  const windows: { base: string; commits: string[] }[] = []
  for (const [commit = '', parent] of chain) {
    if (parent === undefined) continue
    const last = windows.at(-1)
    if (last !== undefined && last.commits.at(-1) === parent && last.commits.length < atOnce) last.commits.push(commit)
    else windows.push({ base: parent, commits: [commit] })
  }
  return windows
}

interface Stage {
  readonly url: string
  readonly root: string
  readonly git: Git
  readonly random: Random
  readonly counts: Counts
}

async function replayWindow(stage: Stage, { base, commits }: Window): Promise<void> {
  const { git, url, root, random, counts } = stage
  git('checkout', '-q', '--force', '--detach', base)
  git('clean', '-qfdx', '-e', '.async-crud-mcp')
  // The agents begin once the server has seen what the checkout has made, and when it is certain that they begin later.
  await post(url, 'land_prepare', {})
  const start = Date.now() + grainMs
  await until(() => Date.now() > start)
  const head = git('rev-parse', 'HEAD')
  const files = editsOf(git, base, commits)
  const edits = mixed(files, random)
  for (const [index, edit] of edits.entries()) await make(stage, edit, index)
  counts.edits += edits.length
  counts.commits += commits.length
  const landed = new Map<number, string>()
  let waiting = shuffled(
    commits.map((_, index) => index),
    random
  )
  for (let isMoving = true; isMoving && waiting.length > 0;) {
    isMoving = false
    const refused: number[] = []
    for (const index of waiting) {
      const answer = await post(url, 'land', { agent: nameOf(index), include_overwritten: true })
      if (answer['status'] === 'ok') landed.set(index, String(answer['commit']))
      // What it made is what others have made, too, or nothing.
      else if (answer['status'] === 'nothing' && patchOf(git, `${commits[index]}^`, commits[index]!) === '')
        landed.set(index, '')
      else refused.push(index)
      isMoving ||= landed.has(index)
    }
    waiting = refused
  }
  counts.refused += waiting.length
  const before = new Set<number>()
  for (const [index, commit] of landed) {
    const wanted = patchOf(git, `${commits[index]}^`, commits[index]!)
    const made = commit === '' ? '' : patchOf(git, `${commit}^`, commit)
    if (made === wanted) counts.same += 1
    else {
      counts.other += 1
      const isAsMade = isExact(git, files, { index, original: commits[index]!, commit, before })
      if (isAsMade) counts.exact += 1
      if (process.env['BENCH_VERBOSE'] !== undefined)
        console.log(
          `window ${windowCount}: ${commits[index]}${isAsMade ? ', exact' : ''}\n--- wanted\n${wanted}\n--- made\n${made}`
        )
      if (hasForeign(made, wanted)) counts.foreign += 1
    }
    before.add(index)
  }
  let gone = 0
  for (const index of waiting) {
    const names = git('diff', '--name-only', '--no-renames', `${commits[index]}^`, commits[index]!).split('\n')
    const refusal = await post(url, 'land', { agent: nameOf(index), include_overwritten: true, dry_run: true })
    const isEnded = git('ls-tree', 'HEAD', '--', ...names) === '' && !names.some((name) => existsSync(join(root, name)))
    const isGone = isEnded || git('diff', '--name-only', base, commits.at(-1)!, '--', ...names) === ''
    gone += Number(isGone)
    if (!isTrue(refusal, isGone, waiting.map(nameOf))) counts.untrue += 1
    if (process.env['BENCH_VERBOSE'] !== undefined)
      console.log(`window ${windowCount}: refused ${commits[index]}`, JSON.stringify(refusal))
  }
  counts.gone += gone
  if (waiting.length === gone && git('status', '--porcelain') !== '') {
    counts.unclean += 1
    if (process.env['BENCH_VERBOSE'] !== undefined)
      console.log(
        `window ${windowCount}: ${head}: ${git('diff', 'HEAD')}\n${JSON.stringify(await post(url, 'land_prepare', {}))}`
      )
  }
  git('checkout', '-q', '--force', '--detach', commits.at(-1)!)
}

/** It is in no tree, or rests on what is refused itself, or may be of another, since its command was noticed late. */
function isTrue(refusal: Record<string, unknown>, isGone: boolean, refused: readonly string[]): boolean {
  const on = (refusal['dependent'] ?? []) as readonly { readonly agent_id: string }[]
  const uncertain = (refusal['uncertain'] ?? []) as readonly string[]
  if (refusal['status'] === 'nothing') return isGone || uncertain.length > 0
  return on.length > 0 && on.every(({ agent_id }) => refused.includes(agent_id))
}

let windowCount = 0
const nameOf = (index: number) => `agent-${windowCount}-${index}`

/** Without the numbers of lines and blobs. */
function patchOf(git: Git, from: string, to: string, ...paths: string[]): string {
  const text = git(
    'diff',
    '-U0',
    '--no-renames',
    '--no-color',
    '--no-ext-diff',
    '--text',
    '--diff-algorithm=myers',
    from,
    to,
    '--',
    ...paths
  )
  return text
    .split('\n')
    .filter((line) => !line.startsWith('index '))
    .map((line) => (line.startsWith('@@') ? '@@' : line))
    .join('\n')
}

interface LandedCommit {
  readonly index: number
  readonly original: string
  /** Empty if there was nothing to land. */
  readonly commit: string
  /** Those that had landed. */
  readonly before: ReadonlySet<number>
}

/** Whether each file was and is what the commits that have landed make of it. */
function isExact(git: Git, files: readonly FileEdits[], { index, original, commit, before }: LandedCommit): boolean {
  if (commit === '') return false
  const after = new Set([...before, index])
  return files.every(({ path, textWith }) => {
    const [made, wanted] = [commit, original].map((at) => patchOf(git, `${at}^`, at, path)) as [string, string]
    if (made === wanted) return true
    if (modesOf(made) !== modesOf(wanted)) return false
    const has = (at: string, landed: ReadonlySet<number>) =>
      textWith?.(landed).equals(git.bytes('cat-file', 'blob', `${at}:${path}`)) === true
    return has(`${commit}^`, before) && has(commit, after)
  })
}

const modesOf = (patch: string) => (patch.match(/^(?:old|new) mode .*$/gm) ?? []).join()

/** Whether a line is added or removed that the original has not. What a file had that both remove as a whole is no matter. */
function hasForeign(made: string, wanted: string): boolean {
  const removed = new Set(filesOf(wanted).filter(isRemoval).map(nameLine))
  const known = new Set(wanted.split('\n'))
  return filesOf(made).some(
    (file) =>
      !(isRemoval(file) && removed.has(nameLine(file))) &&
      file.split('\n').some((line) => /^[+-]/.test(line) && !known.has(line))
  )
}

const filesOf = (patch: string) => patch.split(/^(?=diff --git )/m)
const nameLine = (file: string) => file.slice(0, file.indexOf('\n'))
const isRemoval = (file: string) => /^deleted file mode /m.test(file)

/** Each hunk of each commit is one edit; what rests on another comes behind it. */
function editsOf(git: Git, base: string, commits: readonly string[]) {
  const names = git('diff', '--name-only', '-z', '--no-renames', base, commits.at(-1)!, '--').split('\0')
  const touched = new Set([
    ...names,
    ...commits.flatMap((commit) => git('diff', '--name-only', '-z', '--no-renames', `${commit}^`, commit).split('\0'))
  ])
  touched.delete('')
  return [...touched].map((path) => fileEdits(git, path, base, commits))
}

interface FileEdits {
  readonly path: string
  /** What is left to do, in an order that is possible; the next of several may be chosen. */
  next(random: Random): Edit | undefined
  /** The file with the lines of some commits; undefined if it comes or goes, or is no text. */
  readonly textWith?: (commits: ReadonlySet<number>) => Buffer
}

function fileEdits(git: Git, path: string, base: string, commits: readonly string[]): FileEdits {
  const at = (commit: string) => {
    const entry = git('ls-tree', commit, '--', path)
    const bytes = /^100\d+ blob/.test(entry) ? git.bytes('cat-file', 'blob', `${commit}:${path}`) : undefined
    return { bytes, mode: Number.parseInt(entry.slice(3, 6) || '644', 8) }
  }
  const states = [base, ...commits].map(at)
  const versions = states.map(({ bytes }) => bytes)
  const modes = states.slice(1).flatMap(({ bytes, mode }, agent): ModeEdit[] => {
    const before = states[agent]!
    return bytes === undefined || mode === (before.bytes === undefined ? 0o644 : before.mode) ? [] : [{ agent, mode }]
  })
  const edits = contentEdits(path, versions)
  return modes.length === 0 ? edits : withModes(edits, modes)
}

interface ModeEdit {
  readonly agent: number
  readonly mode: number
}

/** Each change of a mode comes behind the last edit of its agent, and then in the order of the commits. */
function withModes(edits: FileEdits, modes: ModeEdit[]): FileEdits {
  const { path } = edits
  return {
    ...edits,
    next(random) {
      const edit = edits.next(random)
      if (edit !== undefined) return edit
      const last = modes.shift()
      return last && { agent: last.agent, path, bytes: undefined, mode: last.mode }
    }
  }
}

function contentEdits(path: string, versions: readonly (Buffer | undefined)[]): FileEdits {
  const isText = versions.every((bytes) => bytes !== undefined && !bytes.includes(0))
  return isText ? lineEdits(path, versions as Buffer[]) : wholeEdits(path, versions)
}

/** A file that comes or goes, or is no text: one edit for each commit that changes it. */
function wholeEdits(path: string, versions: readonly (Buffer | undefined)[]): FileEdits {
  const edits = versions.slice(1).flatMap((bytes, agent): Edit[] => {
    const before = versions[agent]
    const isSame = bytes === undefined || before === undefined ? bytes === before : bytes.equals(before)
    return isSame ? [] : [{ agent, path, bytes }]
  })
  return { path, next: () => edits.shift() }
}

function lineEdits(path: string, versions: readonly Buffer[]): FileEdits {
  const texts = versions.map((bytes) => splitLines(bytes.toString('latin1')))
  const stages = texts.slice(1).map((lines, change) => ({ change, lines }))
  const { lines } = createLineLog(texts[0]!, stages, { countsRestored: true })
  const hunks = new Set(lines.flatMap(({ made, removed }) => [made, removed]).filter((hunk) => hunk !== undefined))
  const applied = new Set<Hunk<number>>()
  const isNeeded = (line: Line<number> | undefined) => line?.made !== undefined && !applied.has(line.made)
  const isReady = (hunk: Hunk<number>) =>
    !hunk.removed.some(isNeeded) &&
    // What stands inside another commit's lines comes behind it.
    !(hunk.left?.made !== undefined && hunk.left.made === hunk.right?.made && isNeeded(hunk.left))
  const textOf = (has: (hunk: Hunk<number>) => boolean) => {
    const now = lines.filter(
      ({ made, removed }) => (made === undefined || has(made)) && (removed === undefined || !has(removed))
    )
    return Buffer.from(now.map(({ text }) => text).join(''), 'latin1')
  }
  return {
    path,
    textWith: (commits) => textOf(({ change }) => commits.has(change)),
    next(random) {
      const ready = [...hunks].filter((hunk) => !applied.has(hunk) && isReady(hunk))
      const hunk = ready[Math.floor(random() * ready.length)]
      if (hunk === undefined) return undefined
      applied.add(hunk)
      return { agent: hunk.change, path, bytes: textOf((one) => applied.has(one)) }
    }
  }
}

function mixed(files: FileEdits[], random: Random): Edit[] {
  const edits: Edit[] = []
  const left = [...files]
  while (left.length > 0) {
    const at = Math.floor(random() * left.length)
    const edit = left[at]!.next(random)
    if (edit === undefined) left.splice(at, 1)
    else edits.push(edit)
  }
  return edits
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item)
}

/** By an operation, a native edit or a command, in turn. A native edit tells its hook the content as text, so it makes no other. */
async function make({ url, root }: Stage, edit: Edit, index: number): Promise<void> {
  const agent_id = nameOf(edit.agent)
  const path = join(root, edit.path)
  if (edit.mode !== undefined)
    return asCommand(url, { agent_id, root, command: `chmod ${edit.mode.toString(8)} '${path}' || true` })
  const ways = [byOperation, byNativeEdit, byCommand]
  const isText = edit.bytes !== undefined && isUtf8(edit.bytes)
  const way = !isText && index % 3 === 1 ? byOperation : ways[index % 3]!
  await way(url, { agent_id, path, bytes: edit.bytes, root })
}

interface Made {
  readonly agent_id: string
  readonly path: string
  readonly bytes: Buffer | undefined
  readonly root: string
}

async function byOperation(url: string, { agent_id, path, bytes }: Made): Promise<void> {
  if (bytes === undefined) return expectOk(await post(url, 'async_delete', { agent_id, path }))
  const content = bytes.toString('latin1')
  const text = { agent_id, path, content, encoding: 'latin1' }
  if (!existsSync(path)) return expectOk(await post(url, 'async_write', { ...text, create_dirs: true }))
  const { hash } = await post(url, 'async_read', { agent_id, path, encoding: 'latin1' })
  expectOk(await post(url, 'async_update', { ...text, expected_hash: hash }))
}

function write({ path, bytes }: Made): void {
  if (bytes === undefined) return rmSync(path)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, bytes)
}

async function byNativeEdit(url: string, made: Made): Promise<void> {
  const { agent_id, path, bytes, root } = made
  // What it replaces has been seen.
  if (existsSync(path)) await post(url, 'async_read', { agent_id, path, encoding: 'latin1' })
  const input = { file_path: path, content: bytes?.toString() ?? '' }
  const hook = (hook_event_name: string) =>
    post(
      url,
      'hooks/claude-code',
      {
        session_id: agent_id,
        cwd: root,
        hook_event_name,
        tool_name: 'Write',
        tool_input: input,
        tool_response: {}
      },
      { 'x-agent-id': agent_id }
    )
  await hook('PreToolUse')
  write(made)
  await hook('PostToolUse')
}

async function byCommand(url: string, { agent_id, path, bytes, root }: Made): Promise<void> {
  const source = join(dirname(root), `${basename(root)}.new`)
  if (bytes !== undefined) writeFileSync(source, bytes)
  const command = bytes === undefined ? `rm '${path}'` : `mkdir -p '${dirname(path)}' && cat '${source}' > '${path}'`
  return asCommand(url, { agent_id, root, command })
}

async function asCommand(
  url: string,
  { agent_id, root, command }: Pick<Made, 'agent_id' | 'root'> & { command: string }
): Promise<void> {
  const hook = (hook_event_name: string) => {
    const fields = { tool_name: 'Bash', tool_input: { command }, tool_response: {} }
    const event = { session_id: agent_id, cwd: root, hook_event_name, ...fields }
    return post(url, 'hooks/claude-code', event, { 'x-agent-id': agent_id })
  }
  await hook('PreToolUse')
  execFileSync('sh', ['-c', command], { cwd: root })
  await hook('PostToolUse')
}

function expectOk(answer: Record<string, unknown>): void {
  if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
}

async function post(url: string, name: string, input: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/${name}`, {
    method: 'POST',
    // While this process waits for Git, the server may give up a connection that is kept.
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    body: JSON.stringify(input)
  })
  return (await response.json()) as Record<string, unknown>
}
