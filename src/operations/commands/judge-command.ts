// Judges a shell command before it runs: what it would discard of the uncommitted work of others is refused, and kept in any case.
import { realpathSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import type { OperationContext } from '../../engine/call/context.ts'
import { keepBoundsOf, keepUnsaved } from '../../engine/commands/keep-unsaved.ts'
import { maskSecrets } from '../../engine/commands/mask-secrets.ts'
import { orUndefined } from '../../support/attempt.ts'
import { anySignal } from '../../support/lazy-signal.ts'
import { findRepository } from '../../support/project/repository.ts'
import { listIgnored } from '../../support/project/tree-look.ts'
import type { Unsaved } from '../../support/project/unsaved.ts'
import { openWorkTree } from '../../support/project/work-tree.ts'
import { readOptions } from '../../support/shell/options.ts'
import type { CommandLine } from '../../support/shell/simple-command.ts'
import { createLook, isTracked, leftBlob, LookFailed, type Discard, type Look } from '../discards/discard.ts'
import { expandArguments } from '../discards/expand.ts'
import { aliasOf, type GitCall } from '../discards/git-call.ts'
import { discarding } from '../discards/git-discard.ts'
import { isThere, isWithin, removalOf } from '../discards/tree-discard.ts'
import { findLostFiles, type TakenFile } from '../discards/lost-files.ts'
import { isAuthor } from '../discards/lost-lines.ts'
import { plansOf, type Plan } from '../discards/plans.ts'
import { readRemoval } from '../discards/removal.ts'
import { parseCommand, topOf } from './command-line.ts'
import {
  maxFiles,
  quoteLine,
  refusalText,
  sweptText,
  unknownText,
  unopenedText,
  type Found,
  type LostFile
} from '../discards/words.ts'

export interface JudgedCommand {
  readonly agentId: string
  /** The command line. */
  readonly command: string
  /** The same, as it is read; undefined if it cannot be. */
  readonly line: CommandLine | undefined
  /** Absolute: where it runs. */
  readonly cwd: string
}

export interface CommandVerdict {
  /** Why it must not run, and what to do instead; undefined if it may. */
  readonly refusal?: string
  /** What the session is to know though it may run. */
  readonly note?: string
}

/** Paths that one command would take and whose lines are looked at. */
const maxJudged = 2000
const maxUnsaved = 50_000
const timeoutMs = 20_000
const maxAliasDepth = 5
const unreadable: Plan = { kind: 'unknown', why: 'it could not be parsed' }
const addOptions =
  'n|dry-run v|verbose i|interactive p|patch e|edit f|force u|update N|intent-to-add A|no-ignore-removal|all refresh ignore-errors ignore-missing sparse renormalize chmod= pathspec-from-file= pathspec-file-nul'

/** Never throws: what cannot be judged passes. A command that can discard nothing costs nothing. */
export async function judgeCommand(context: OperationContext, judged: JudgedCommand): Promise<CommandVerdict> {
  const { hooks } = context.config
  if (hooks.git === 'off') return {}
  try {
    const plans = judged.line === undefined ? [unreadable] : plansOf(judged.line)
    if (plans.length === 0) return {}
    const judge = createJudge(context, judged)
    await judge.carryOut(plans)
    return await judge.verdict()
  } catch (error) {
    if (!(error instanceof LookFailed)) context.log.error({ err: error }, 'a command could not be judged')
    return { note: unknownText(['what this command would discard']) }
  }
}

function createJudge(context: OperationContext, { agentId, command, cwd }: JudgedCommand) {
  const { config, files, history } = context
  const signal = anySignal(context.signal, AbortSignal.timeout(timeoutMs))
  const looks = new Map<string, Look>()
  const unsavedOf = new Map<Look, Unsaved>()
  const unknown: string[] = []
  /** Repositories that Git does not open for this server. */
  const unopened = new Set<string>()
  /** What the commands of the line would take. */
  const taken = new Map<string, TakenFile>()
  /** Ignored files that nobody is known to have worked on: they are only kept. */
  const ignored = new Set<string>()
  /** What is staged by the line itself. */
  const staged = new Set<string>()
  /** What its commits would take in. */
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
    const inUse = [...history.paths()].filter(
      (path) => !taken.has(path) && isWithin(path, folders) && isWork(path, look) && isThere(path)
    )
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

  async function verdict(): Promise<CommandVerdict> {
    const bounds = keepBoundsOf(config)
    for (const look of looks.values()) unsavedOf.set(look, await look.unsaved())
    const paths = new Set(
      [...[...unsavedOf.values()].flatMap((one) => [...one.files.keys()]), ...taken.keys(), ...ignored].filter(isServed)
    )
    if (bounds !== undefined) await keepUnsaved(paths, context, bounds)
    const notes: string[] = []
    if (config.hooks.git === 'refuse') {
      const found = await findTaken()
      if (found.lost.length + found.notLooked > 0) return { refusal: refuse(found) }
      const others = await findSwept()
      if (others.length > 0) notes.push(sweptText(others, agentId))
    }
    if (unknown.length > 0) notes.push(unknownText(unknown))
    if (unopened.size > 0) notes.push(unopenedText([...unopened]))
    return notes.length === 0 ? {} : { note: notes.join('\n') }
  }

  function refuse(found: Found): string {
    const masked = maskSecrets(command)
    const files = found.lost.slice(0, maxFiles).map(({ shown }) => shown)
    context.activity.troubles.refusedCommand({
      agent_id: agentId,
      command: quoteLine(masked),
      files,
      further_files: found.lost.length + found.notLooked - files.length,
      others: [...new Set(found.lost.flatMap(({ lost }) => [...lost.keys()]))].filter(isAuthor).slice(0, maxFiles)
    })
    return refusalText(agentId, masked, found)
  }

  async function findTaken(): Promise<Found> {
    const all = [...taken].filter(([path]) => isServed(path))
    const judged = all.slice(0, maxJudged)
    const lost = await findLostFiles(context, agentId, judged, { unsavedOf, shownOf, signal })
    const isOwn = ([path, { left }]: readonly [string, TakenFile]) => !lost.has(path) && left !== 'nothing'
    return {
      lost: [...lost.values()],
      notLooked: all.length - judged.length,
      own: judged.filter(isOwn).map(([path]) => shownOf(path))
    }
  }

  async function findSwept(): Promise<readonly LostFile[]> {
    const judged = [...swept].filter(([path]) => isServed(path)).slice(0, maxJudged)
    return [...(await findLostFiles(context, agentId, judged, { unsavedOf, shownOf, signal })).values()]
  }

  function isServed(path: string): boolean {
    return files.roots.some(({ real }) => path.startsWith(real.endsWith(sep) ? real : real + sep))
  }

  function shownOf(path: string): string {
    const below = relative(orUndefined(() => realpathSync(cwd)) ?? cwd, path)
    return below.startsWith('..') ? path : below
  }

  return { carryOut, verdict }
}
