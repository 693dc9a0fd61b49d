// What a Git command that discards uncommitted work would take: which paths, and what it leaves there.
import { resolve, sep } from 'node:path'
import { isFolder, isThere } from '../../support/is-there.ts'
import { readOptions } from '../../support/shell/options.ts'
import { runGit } from '../../support/project/run-git.ts'
import { hasUnmatched, listCleaned, listIgnored, resolveCommit, resolveTree } from '../../support/project/tree-look.ts'
import { fromIndex, fromTree, removalOf, toCommit, wholeTree } from './tree-discard.ts'
import { isTracked, leftBlob, noDiscard, unknownDiscard, type Discard, type Look, type Taken } from './discard.ts'

/** A call whose arguments are known. */
export interface KnownCall {
  readonly folder: string
  readonly verb: string
  readonly args: readonly string[]
  readonly settings: readonly string[]
}

type Verb = (call: KnownCall, look: Look) => Promise<Discard>

/** The commands that are judged, by their names. */
export const discarding: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['reset', reset],
  ['checkout', checkout],
  ['switch', switchBranch],
  ['restore', restore],
  ['clean', clean],
  ['stash', stash],
  ['rm', remove]
])

const fromFile = 'pathspec-from-file= pathspec-file-nul'
const conflicts = '2|ours 3|theirs m|merge conflict='

async function reset({ args }: KnownCall, look: Look): Promise<Discard> {
  const { has, operands } = readOptions(
    args,
    `q|quiet hard merge keep soft mixed N|intent-to-add p|patch recurse-submodules? no-recurse-submodules refresh no-refresh ${fromFile}`
  )
  if (operands.length > 1) return noDiscard
  const [name = 'HEAD'] = operands
  if (has('hard')) return wholeTree(look, await resolveCommit(look.tree, name, look.signal))
  if (!has('merge')) return noDiscard
  const all = await wholeTree(look, await resolveCommit(look.tree, name, look.signal))
  const { files } = await look.unsaved()
  const isStaged = (path: string) => {
    const file = files.get(path)
    return file !== undefined && (file.isUnmerged === true || file.head !== file.index)
  }
  // Git refuses all of it, if a file is staged and has changed again.
  for (const [path, file] of files)
    if (isTracked(file) && isStaged(path) && file.isUnstaged && file.isUnmerged !== true) return noDiscard
  return { taken: new Map([...all.taken].filter(([path]) => isStaged(path))) }
}

async function checkout(call: KnownCall, look: Look): Promise<Discard> {
  const options = readOptions(
    call.args,
    `q|quiet progress no-progress f|force ${conflicts} b= B= t|track? no-track guess no-guess l d|detach orphan= ignore-skip-worktree-bits p|patch ignore-other-worktrees overwrite-ignore no-overwrite-ignore recurse-submodules? no-recurse-submodules overlay no-overlay ${fromFile}`
  )
  const { has, operands, beforeDashes } = options
  if (has('patch')) return unknownDiscard('what is chosen with --patch')
  if (has('pathspec-from-file')) return unknownDiscard('which paths it reads from a file')
  const isForced = has('force')
  const [first] = operands
  const toBranch = (name = 'HEAD') => (isForced ? toCommit(look, name) : noDiscard)
  if (has('b') || has('B') || has('orphan')) return toBranch(first)
  if (beforeDashes !== undefined) {
    const paths = operands.slice(beforeDashes)
    if (paths.length === 0) return toBranch(first)
    return beforeDashes === 0
      ? fromIndex(call.folder, look, paths, options)
      : fromTree(call.folder, look, first!, paths, has('no-overlay'))
  }
  if (first === undefined) return toBranch()
  const isFile = isThere(resolve(call.folder, first))
  const isName = (await resolveTree(look.tree, first === '-' ? '@{-1}' : first, look.signal)) !== undefined
  // Git refuses what can mean both.
  if (isName) {
    if (isFile && first !== '-') return noDiscard
    return operands.length === 1
      ? toBranch(first)
      : fromTree(call.folder, look, first, operands.slice(1), has('no-overlay'))
  }
  if (operands.length === 1 && !isFile && (await isRemoteBranch(look, first))) return toBranch(`origin/${first}`)
  return fromIndex(call.folder, look, operands, options)
}

async function switchBranch({ args }: KnownCall, look: Look): Promise<Discard> {
  const { has, operands } = readOptions(
    args,
    'q|quiet progress no-progress f|force|discard-changes c|create= C|force-create= d|detach t|track? no-track guess no-guess m|merge conflict= orphan= ignore-other-worktrees recurse-submodules? no-recurse-submodules overwrite-ignore no-overwrite-ignore'
  )
  if (!has('discard-changes')) return noDiscard
  if (has('orphan')) return wholeTree(look, undefined, true)
  // A branch that begins at HEAD leaves all files as they are.
  const [name] = operands
  if (name === undefined) return noDiscard
  return toCommit(look, (await isRemoteBranch(look, name)) ? `origin/${name}` : name)
}

async function restore(call: KnownCall, look: Look): Promise<Discard> {
  const options = readOptions(
    call.args,
    `s|source= S|staged W|worktree p|patch q|quiet progress no-progress ${conflicts} ignore-unmerged ignore-skip-worktree-bits overlay no-overlay recurse-submodules? no-recurse-submodules ${fromFile}`
  )
  const { has, get, operands } = options
  if (!has('worktree') && has('staged')) return noDiscard
  if (has('patch')) return unknownDiscard('what is chosen with --patch')
  if (has('pathspec-from-file')) return unknownDiscard('which paths it reads from a file')
  if (operands.length === 0) return noDiscard
  const source = get('source')?.at(-1) ?? (has('staged') ? 'HEAD' : undefined)
  return source === undefined
    ? fromIndex(call.folder, look, operands, options)
    : fromTree(call.folder, look, source, operands, !has('overlay'))
}

async function clean({ folder, args, settings }: KnownCall, look: Look): Promise<Discard> {
  const { has, get, operands } = readOptions(args, 'n|dry-run q|quiet f|force i|interactive d x X e|exclude=')
  if (has('dry-run')) return noDiscard
  if (has('interactive')) return unknownDiscard('what is chosen with --interactive')
  if (!has('force') && !(await cleansUnforced(folder, settings, look))) return noDiscard
  const flags = ['d', 'x', 'X'].filter(has).map((flag) => `-${flag}`)
  const force = (get('force') ?? ['']).map(() => '-f')
  const patterns = (get('exclude') ?? []).map((pattern) => `--exclude=${pattern}`)
  const paths = await listCleaned(look.tree, folder, [...force, ...flags, ...patterns, '--', ...operands], look.signal)
  if (paths === undefined) return noDiscard
  return removalOf(
    paths.map((path) => (path.endsWith(sep) ? path.slice(0, -1) : path)),
    look
  )
}

async function stash(call: KnownCall, look: Look): Promise<Discard> {
  const [verb = 'push'] = call.args
  const isNamed = verb === 'push' || verb === 'save'
  if (!isNamed && !verb.startsWith('-')) return noDiscard
  const { has, operands } = readOptions(
    isNamed ? call.args.slice(1) : call.args,
    `p|patch S|staged k|keep-index no-keep-index q|quiet u|include-untracked no-include-untracked a|all m|message= ${fromFile}`
  )
  if (has('patch')) return unknownDiscard('what is chosen with --patch')
  if (has('pathspec-from-file')) return unknownDiscard('which paths it reads from a file')
  const { files: all } = await look.unsaved()
  if (look.tree.commit === undefined || [...all.values()].some(({ isUnmerged }) => isUnmerged)) return noDiscard
  const paths = verb === 'save' ? [] : operands
  const withUntracked = has('include-untracked') || has('all')
  if (paths.length > 0 && !withUntracked && (await hasUnmatched(look.tree, call.folder, paths, look.signal)))
    return noDiscard
  const taken = new Map<string, Taken>()
  // What is staged is stashed whatever the paths.
  for (const [path, file] of has('staged') ? all : await look.matching(call.folder, paths)) {
    if (!isTracked(file)) {
      if (withUntracked) taken.set(path, { left: 'nothing' })
    } else if (has('staged')) {
      if (file.head !== file.index) taken.set(path, { left: leftBlob(file.head), renamedFrom: file.renamedFrom })
    } else if (!has('keep-index')) taken.set(path, { left: leftBlob(file.head), renamedFrom: file.renamedFrom })
    else if (file.isUnstaged) taken.set(path, { left: leftBlob(file.index) })
  }
  if (has('all'))
    for (const path of (await listIgnored(look.tree, call.folder, paths, look.signal)) ?? [])
      taken.set(path, { left: 'nothing' })
  return { taken }
}

async function remove(call: KnownCall, look: Look): Promise<Discard> {
  const { has, operands } = readOptions(
    call.args,
    `n|dry-run q|quiet f|force r cached ignore-unmatch sparse ${fromFile}`
  )
  // Without force Git refuses what differs from HEAD.
  if (!has('force') || has('cached') || has('dry-run')) return noDiscard
  if (has('pathspec-from-file')) return unknownDiscard('which paths it reads from a file')
  if (!has('r') && operands.some((path) => isFolder(resolve(call.folder, path)))) return noDiscard
  if (!has('ignore-unmatch') && (await hasUnmatched(look.tree, call.folder, operands, look.signal))) return noDiscard
  const taken = new Map<string, Taken>()
  for (const [path, file] of await look.matching(call.folder, operands))
    if (file.what !== 'deleted' && (file.index !== undefined || file.isUnmerged === true))
      taken.set(path, { left: 'nothing' })
  return { taken }
}

async function cleansUnforced(folder: string, settings: readonly string[], { signal }: Look): Promise<boolean> {
  const given = settings
    .flatMap((setting) => ['-c', setting])
    .filter((one) => one === '-c' || /^clean\.requireforce/i.test(one))
  const pairs = given.flatMap((one, index) => (one !== '-c' && given[index - 1] === '-c' ? ['-c', one] : []))
  const ask = [...pairs, '-C', folder, 'config', '--type=bool', '--get', 'clean.requireForce']
  return (await runGit(ask, signal))?.trim() === 'false'
}

async function isRemoteBranch({ tree, signal }: Look, name: string): Promise<boolean> {
  const isOwn = (await resolveCommit(tree, name, signal)) !== undefined
  return !isOwn && (await resolveCommit(tree, `refs/remotes/origin/${name}`, signal)) !== undefined
}
