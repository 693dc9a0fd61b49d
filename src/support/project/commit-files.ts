// Makes a commit of files that are given, beside the working tree and the index of the user, without running anything that the repository
// names.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { withScratch } from '../scratch.ts'
import { pipeGit, runGit } from './run-git.ts'
import { stageFiles, type CommitFile } from './stage-files.ts'
import { withStandIn } from './stand-in.ts'
import type { WorkTree } from './work-tree.ts'

/** Git has failed; what it says is not read, since a repository can choose its words. */
export class GitFailed extends Error {
  constructor(what: string) {
    super(`Git could not ${what}. Try it with git itself, which says more.`)
  }
}

/** @returns the id of a tree: that of the commit with these files. To be called once. */
export type WriteTree = (files: readonly CommitFile[]) => Promise<string>

/** Git reads the commit into an index of its own while `use` finds out what becomes of it. */
export function withOwnIndex<Result>(
  tree: WorkTree & { readonly commit: string },
  signal: AbortSignal,
  use: (writeTree: WriteTree) => Promise<Result>
): Promise<Result> {
  return withScratch(async (scratch) => {
    const workTree = join(scratch, 'tree')
    await mkdir(workTree)
    return withStandIn({ ...tree, workTree }, workTree, async ({ options, variables }) => {
      const own = { ...variables, GIT_INDEX_FILE: join(scratch, 'index') }
      const git = (args: readonly string[], input: Buffer = Buffer.alloc(0)) =>
        pipeGit([...options, ...args], signal, own, input)
      const read = git(['read-tree', tree.commit])
      try {
        return await use((files) =>
          stageFiles(workTree, files, async (args, input) => {
            const output = (await read) && (await git(args, input))
            if (output === undefined) throw new GitFailed('make the tree of the commit')
            return output
          })
        )
      } finally {
        // It writes into the folder that goes now.
        await read
      }
    })
  })
}

/** As Git's settings say, of the repository and of the user; undefined if they name nobody. */
export async function readIdentity({ workTree }: WorkTree, signal: AbortSignal): Promise<Identity | undefined> {
  const { output } = await runGit(['-C', workTree, 'var', 'GIT_COMMITTER_IDENT'], signal)
  const [, name, email] = /^(.+?) <([^>]*)> \d+ /.exec(output ?? '') ?? []
  return name === undefined || email === undefined || email === '' ? undefined : { name, email }
}

export interface Identity {
  readonly name: string
  readonly email: string
}

/** @returns the id of the commit */
export async function writeCommit(
  tree: WorkTree,
  { parent, content, message, identity }: { parent: string; content: string; message: string; identity: Identity },
  signal: AbortSignal
): Promise<string> {
  return withStandIn(tree, tree.workTree, async ({ options, variables }) => {
    const names = {
      ...variables,
      GIT_AUTHOR_NAME: identity.name,
      GIT_AUTHOR_EMAIL: identity.email,
      GIT_COMMITTER_NAME: identity.name,
      GIT_COMMITTER_EMAIL: identity.email
    }
    const args = [...options, 'commit-tree', content, '-p', parent, '-F', '-']
    const output = await pipeGit(args, signal, names, Buffer.from(message))
    if (output === undefined) throw new GitFailed('make the commit')
    return output.toString('latin1').trim()
  })
}

/** The commit that HEAD is; undefined if there is none. */
export function readHead(tree: WorkTree, signal: AbortSignal): Promise<string | undefined> {
  return readLine(tree, ['rev-parse', '--verify', '--quiet', 'HEAD'], signal)
}

/** The branch that HEAD means; null for a detached HEAD. */
export async function readBranch(tree: WorkTree, signal: AbortSignal): Promise<string | null> {
  return (await readLine(tree, ['symbolic-ref', '--quiet', '--short', 'HEAD'], signal)) ?? null
}

async function readLine({ workTree }: WorkTree, args: readonly string[], signal: AbortSignal) {
  return (await runGit(['-C', workTree, ...args], signal)).output?.trim()
}

/** Moves the branch of HEAD, or a detached HEAD. @returns false if it is not at `from` any more */
export async function moveHead(
  { workTree }: WorkTree,
  { from, to, reason }: { readonly from: string; readonly to: string; readonly reason: string },
  signal: AbortSignal
): Promise<boolean> {
  const { output } = await runGit(['-C', workTree, 'update-ref', '-m', reason, 'HEAD', to, from], signal)
  return output !== undefined
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
  const { output } = await runGit(['-C', workTree, 'read-tree', ...flags, from, to], signal)
  return output !== undefined
}

/** What a commit has otherwise than another one. */
export async function readChanges(
  tree: WorkTree,
  { from, to }: { readonly from: string; readonly to: string },
  signal: AbortSignal
): Promise<Changes> {
  const { output } = await runGit(
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
    const { output } = await runGit(args, signal, {}, maxListBytes)
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
