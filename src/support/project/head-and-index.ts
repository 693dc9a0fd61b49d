// HEAD and the index of the user, as a landing reads and moves them. No program runs that the repository names.
import { join } from 'node:path'
import { readSmall } from './read-small.ts'
import { pipeGit, runGit } from './run-git.ts'
import type { WorkTree } from './work-tree.ts'

/** Git has failed; what it says is not read, since a repository can choose its words. */
export class GitFailed extends Error {
  constructor(what: string) {
    super(`Git could not ${what}. Try it with git itself, which says more.`)
  }
}

/** The commit that HEAD is; undefined if there is none. */
export function readHead(tree: WorkTree, signal: AbortSignal): Promise<string | undefined> {
  return readLine(tree, ['rev-parse', '--verify', '--quiet', 'HEAD'], signal)
}

/** The branch that HEAD means; null for a detached HEAD. */
export async function readBranch(tree: WorkTree, signal: AbortSignal): Promise<string | null> {
  const [, name] = /^ref: refs\/heads\/(.+)\n$/.exec(readSmall(join(tree.gitDir, 'HEAD')) ?? '') ?? []
  // Git writes this name where it keeps the branches in a table (reftable).
  if (name !== undefined && name !== '.invalid') return name
  return (await readLine(tree, ['symbolic-ref', '--quiet', '--short', 'HEAD'], signal)) ?? null
}

async function readLine({ workTree }: WorkTree, args: readonly string[], signal: AbortSignal) {
  return (await runGit(['-C', workTree, ...args], signal))?.trim()
}

/** Moves the branch of HEAD, or a detached HEAD. @returns false if it is not at `from` any more */
export async function moveHead(
  { workTree }: WorkTree,
  { from, to, reason }: { readonly from: string; readonly to: string; readonly reason: string },
  signal: AbortSignal
): Promise<boolean> {
  return (await runGit(['-C', workTree, 'update-ref', '-m', reason, 'HEAD', to, from], signal)) !== undefined
}

/** A path of an index or of a commit. */
export interface IndexEntry {
  readonly mode: string
  readonly blob: string
}

/** By path, what a commit's parent has and what it has. */
export type Changes = ReadonlyMap<
  string,
  { readonly before: IndexEntry | undefined; readonly after: IndexEntry | undefined }
>

/**
 * Lets the user's index follow from one commit to another, and keeps what else is staged in it.
 * @returns false if it could not be locked, or has paths of the difference otherwise than the first commit: then nothing has changed
 */
export async function advanceIndex(
  { workTree }: WorkTree,
  { from, to }: { readonly from: string; readonly to: string },
  signal: AbortSignal
): Promise<boolean> {
  // Only the index is looked at: neither the files, nor the submodules.
  const flags = ['-i', '-m', '--no-recurse-submodules', '--no-sparse-checkout']
  return (await runGit(['-C', workTree, 'read-tree', ...flags, from, to], signal)) !== undefined
}

/** What a commit has otherwise than another one. */
export async function readChanges(
  tree: WorkTree,
  { from, to }: { readonly from: string; readonly to: string },
  signal: AbortSignal
): Promise<Changes> {
  const output = await runGit(
    ['-C', tree.workTree, 'diff-tree', '-r', '-z', '--no-renames', '--no-ext-diff', '--raw', from, to],
    signal,
    {},
    maxListBytes
  )
  if (output === undefined) throw new GitFailed('compare the commits')
  const parts = output.split('\0')
  const found = new Map<string, { before: IndexEntry | undefined; after: IndexEntry | undefined }>()
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [mode = '', newMode = '', blob = '', newBlob = ''] = parts[at]!.slice(1).split(' ')
    found.set(parts[at + 1]!, { before: entryOf(mode, blob), after: entryOf(newMode, newBlob) })
  }
  return found
}

const maxListBytes = 256 * 1024 * 1024

function entryOf(mode: string, blob: string): IndexEntry | undefined {
  return /^0+$/.test(blob) ? undefined : { mode, blob }
}

/** What the user's index has at these names; several stages count as none. */
export async function readIndex(
  tree: WorkTree,
  names: readonly string[],
  signal: AbortSignal
): Promise<Map<string, IndexEntry>> {
  const found = new Map<string, IndexEntry>()
  for (let at = 0; at < names.length; at += namesPerCall) {
    const some = names.slice(at, at + namesPerCall).map((name) => `:(top,literal)${name}`)
    const args = ['-C', tree.workTree, 'ls-files', '--stage', '-z', '--full-name', '--', ...some]
    const output = await runGit(args, signal, {}, maxListBytes)
    if (output === undefined) throw new GitFailed('read the index')
    for (const record of output.split('\0')) {
      const [, mode, blob, stage, name] = /^(\d+) ([0-9a-f]+) (\d)\t(.*)$/s.exec(record) ?? []
      if (stage === '0') found.set(name!, { mode: mode!, blob: blob! })
    }
  }
  return found
}

const namesPerCall = 500

/** Sets names of the user's index; undefined removes one. @returns false if the index could not be locked */
export async function setIndex(
  tree: WorkTree,
  entries: ReadonlyMap<string, IndexEntry | undefined>,
  signal: AbortSignal
): Promise<boolean> {
  if (entries.size === 0) return true
  const zeros = '0'.repeat(tree.commit?.length ?? 40)
  const lines = [...entries].map(([name, entry]) =>
    entry === undefined ? `0 ${zeros}\t${name}\0` : `${entry.mode} ${entry.blob}\t${name}\0`
  )
  const args = ['-C', tree.workTree, 'update-index', '-z', '--index-info']
  return (await pipeGit(args, signal, {}, Buffer.from(lines.join('')))) !== undefined
}
