// What the commands of a line would take from the working tree, gathered before they run.
import { realpathSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { History } from '../../engine/versions/history.ts'
import { orUndefined } from '../../support/attempt.ts'
import { isThere } from '../../support/is-there.ts'
import { findRepository } from '../../support/project/repository.ts'
import { listIgnored } from '../../support/project/tree-look.ts'
import { openWorkTree } from '../../support/project/work-tree.ts'
import { readOptions } from '../../support/shell/options.ts'
import { createLook, isTracked, leftBlob, type Discard, type Look } from '../discards/discard.ts'
import { expandArguments } from '../discards/expand.ts'
import { aliasOf, type GitCall } from '../discards/git-call.ts'
import { discarding } from '../discards/git-discard.ts'
import type { TakenFile } from '../discards/lost-files.ts'
import { plansOf, type Plan } from '../discards/plans.ts'
import { readRemoval } from '../discards/removal.ts'
import { isWithin, removalOf } from '../discards/tree-discard.ts'
import { parseCommand, topOf } from './command-line.ts'

export interface TakenByLine {
  /** The repositories that the commands are about. */
  readonly looks: readonly Look[]
  /** What the commands would take, by path. */
  readonly taken: ReadonlyMap<string, TakenFile>
  /** Ignored files that nobody is known to have worked on: they are only kept. */
  readonly ignored: ReadonlySet<string>
  /** What the commits of the line would take in. */
  readonly swept: ReadonlyMap<string, TakenFile>
  /** What cannot be told. */
  readonly unknown: readonly string[]
  /** Repositories that Git does not open for this server. */
  readonly unopened: ReadonlySet<string>
}

interface Facts {
  readonly history: History
  /** Absolute: where the line runs. */
  readonly cwd: string
  readonly signal: AbortSignal
}

const maxUnsaved = 50_000
const maxAliasDepth = 5
const addOptions =
  'n|dry-run v|verbose i|interactive p|patch e|edit f|force u|update N|intent-to-add A|no-ignore-removal|all refresh ignore-errors ignore-missing sparse renormalize chmod= pathspec-from-file= pathspec-file-nul'

/** Of a line that cannot be parsed. */
export const unreadable: Plan = { kind: 'unknown', why: 'it could not be parsed' }

/** @throws LookFailed if Git cannot tell what differs */
export async function takenByLine(plans: readonly Plan[], facts: Facts): Promise<TakenByLine> {
  const { carryOut, found } = createTaking(facts)
  await carryOut(plans)
  return found()
}

function createTaking({ history, cwd, signal }: Facts) {
  const looks = new Map<string, Look>()
  const unknown: string[] = []
  const unopened = new Set<string>()
  const taken = new Map<string, TakenFile>()
  const ignored = new Set<string>()
  /** What is staged by the line itself. */
  const staged = new Set<string>()
  const swept = new Map<string, TakenFile>()

  async function lookAt(folder: string | undefined): Promise<Look | undefined> {
    const real = folder === undefined ? undefined : orUndefined(() => realpathSync(folder))
    const top = real === undefined ? undefined : findRepository(real)?.workTree
    if (top === undefined || unopened.has(top)) return undefined
    const known = looks.get(top)
    if (known !== undefined) return known
    const tree = await openWorkTree(top, signal)
    if (tree === undefined) return void unopened.add(top)
    const look = createLook(tree, signal, maxUnsaved)
    looks.set(top, look)
    return look
  }

  async function carryOut(plans: readonly Plan[], depth = 0): Promise<void> {
    for (const plan of plans) {
      switch (plan.kind) {
        case 'unknown':
          unknown.push(plan.why)
          await lookAt(cwd)
          break
        case 'keep':
          await lookAt(plan.folder)
          break
        case 'alias':
          await carryOut(await plansOfAlias(plan.call), depth + 1)
          break
        case 'git':
          await addGit(plan.call)
          break
        case 'add':
          await addStaged(plan.call)
          break
        case 'commit':
          await addCommit(plan.call)
          break
        case 'removal':
          await addRemoval(plan)
          break
        default:
          plan satisfies never
      }
      if (depth > maxAliasDepth) return
    }
  }

  async function plansOfAlias(call: GitCall): Promise<Plan[]> {
    const text = await aliasOf(call)
    if (text === undefined) return []
    const isShell = text.startsWith('!')
    const folder = isShell ? (topOf(call.folder) ?? call.folder) : call.folder
    const line = parseCommand(isShell ? text.slice(1) : `git ${text}`, folder)
    if (line === undefined) return [unreadable]
    // The arguments are those of the last command of the alias.
    const commands = line.commands.map((one, index) =>
      index === line.commands.length - 1 ? { ...one, words: [...one.words, ...call.args] } : one
    )
    return plansOf({ ...line, commands })
  }

  async function addGit({ folder, verb, args, settings }: GitCall): Promise<void> {
    const look = await lookAt(folder)
    if (look === undefined) return
    const texts = expandArguments(args, folder)
    if (texts === undefined) return void unknown.push(`what "git ${verb}" gets as arguments`)
    const real = realpathSync(folder)
    await add(await discarding.get(verb)!({ folder: real, verb, args: texts, settings }, look), look)
  }

  async function addRemoval({ command: one, name }: Plan & { kind: 'removal' }): Promise<void> {
    const removal = await readRemoval(one, name)
    if (removal === undefined) return
    if (removal.unknown !== undefined) {
      unknown.push(removal.unknown)
      await lookAt(one.folder ?? cwd)
    }
    const byTop = new Map<Look | undefined, string[]>()
    for (const path of removal.paths) {
      const look = await lookAt(dirname(path))
      byTop.set(look, [...(byTop.get(look) ?? []), path])
    }
    for (const [look, paths] of byTop) await add(await removalOf(paths, look), look)
  }

  async function add(discard: Discard, look: Look | undefined): Promise<void> {
    if (discard.unknown !== undefined) unknown.push(discard.unknown)
    const unsaved = (await look?.unsaved())?.files
    for (const [path, one] of discard.taken) {
      const file = unsaved?.get(path)
      if (file === undefined && !isWork(path, look)) ignored.add(path)
      else if (!taken.has(path)) taken.set(path, { ...one, look, head: file?.head })
    }
    const folders = new Set(discard.folders)
    if (folders.size === 0) return
    const inUse = history
      .paths()
      .filter((path) => !taken.has(path) && isWithin(path, folders) && isWork(path, look) && isThere(path))
    // What is clean is in HEAD; of what is ignored only the log knows.
    for (const path of look === undefined || inUse.length === 0 ? inUse : await ignoredAmong(inUse, look))
      taken.set(path, { left: 'nothing', look, head: undefined })
  }

  /** Of what Git ignores only what has changed while it was in use: the rest is made anew. Without Git, all that is in use. */
  function isWork(path: string, look: Look | undefined): boolean {
    return history.versions(path).some(({ isFirstSight }) => look === undefined || !isFirstSight)
  }

  async function ignoredAmong(paths: readonly string[], { tree }: Look): Promise<readonly string[]> {
    const pathspecs = paths.map((path) => `:(top,literal)${relative(tree.workTree, path)}`)
    return (await listIgnored(tree, tree.workTree, pathspecs, signal)) ?? []
  }

  /** What `git add` stages before a commit in the same line. */
  async function addStaged({ folder, args }: GitCall): Promise<void> {
    const look = await lookAt(folder)
    const texts = expandArguments(args, folder)
    if (look === undefined || texts === undefined) return
    const { has, operands } = readOptions(texts, addOptions)
    if (has('dry-run') || (operands.length === 0 && !has('all') && !has('update'))) return
    for (const [path, file] of await look.matching(realpathSync(folder), operands))
      if (isTracked(file) || !has('update')) staged.add(path)
  }

  /** What the commit takes in: everything that is staged, and what it stages itself. */
  async function addCommit({ folder, args }: GitCall): Promise<void> {
    const look = await lookAt(folder)
    if (look === undefined) return
    const texts = args.map((arg) => arg?.text ?? '')
    const isAll = texts.some((text) => /^-[a-zA-Z]*a|^--all$/.test(text))
    for (const [path, file] of (await look.unsaved()).files)
      if (staged.has(path) || file.head !== file.index || (isAll && isTracked(file)))
        swept.set(path, { look, head: file.head, left: leftBlob(file.head) })
  }

  return {
    carryOut,
    found: (): TakenByLine => ({ looks: [...looks.values()], taken, ignored, swept, unknown, unopened })
  }
}
