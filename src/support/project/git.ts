// Git's facts of the repository of a folder (DUAL 2.2): read anew each time, since they change.
import { toShownRemote } from './remote.ts'
import { runGit, streamGit } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import { openWorkTree, type WorkTree } from './work-tree.ts'

export interface GitInfo {
  /** Without credentials; null if there is none. */
  readonly remote: string | null
  /** Null if HEAD is detached. */
  readonly branch: string | null
  /** Null in an empty repository. */
  readonly commit: string | null
  readonly commit_short: string | null
  /** Null if it could not be found in time. */
  readonly status: 'clean' | 'dirty' | null
}

const timeoutMs = 5000
const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal', '--ignore-submodules=dirty']
const running = new Map<string, Promise<GitInfo | null>>()

/** Null if the folder is in no repository of its own, or Git is not there. Concurrent calls share one look. */
export function readGit(folder: string): Promise<GitInfo | null> {
  const shared = running.get(folder)
  if (shared !== undefined) return shared
  const look = readGitInfo(folder, AbortSignal.timeout(timeoutMs)).finally(() => running.delete(folder))
  running.set(folder, look)
  return look
}

async function readGitInfo(folder: string, signal: AbortSignal): Promise<GitInfo | null> {
  const line = async (...args: string[]) => (await runGit(['-C', folder, ...args], signal))?.replace(/\n$/, '')
  const [tree, short, branch] = await Promise.all([
    openWorkTree(folder, signal),
    line('rev-parse', '--verify', '--quiet', '--short', 'HEAD'),
    line('symbolic-ref', '--quiet', '--short', 'HEAD')
  ])
  if (tree === undefined) return null
  return {
    remote: findRemote(tree.settings) ?? null,
    branch: branch ?? null,
    commit: tree.commit ?? null,
    commit_short: short ?? null,
    status: (await readStatus(tree, signal)) ?? null
  }
}

/** The remote `origin`, else the first. */
function findRemote(settings: readonly (readonly [string, string])[]): string | undefined {
  const remotes = settings.filter(([key]) => key.startsWith('remote.'))
  const [, address] = remotes.find(([key]) => key === 'remote.origin.url') ?? remotes[0] ?? []
  return address === undefined ? undefined : toShownRemote(address)
}

/** Undefined if it could not be found. Changes within a submodule do not count, its commit does. */
function readStatus(tree: WorkTree, signal: AbortSignal): Promise<'clean' | 'dirty' | undefined> {
  return withStandIn(tree, tree.workTree, async ({ options, variables }) => {
    const end = await streamGit([...options, ...status], signal, variables, () => false)
    return end === 'failed' ? undefined : end === 'complete' ? 'clean' : 'dirty'
  })
}
