// What Git says of the repository that a folder belongs to (DUAL 2.2): asked anew each time, since it changes.
import { resolve } from 'node:path'
import { readStatus } from './git-status.ts'
import { toShownRemote } from './remote.ts'
import { runGit } from './run-git.ts'

export interface GitInfo {
  /** Without credentials; null where there is none. */
  readonly remote: string | null
  /** Null where HEAD is detached. */
  readonly branch: string | null
  /** Null in an empty repository. */
  readonly commit: string | null
  readonly commit_short: string | null
  /** Null where it could not be told in time. */
  readonly status: 'clean' | 'dirty' | null
}

const timeoutMs = 5000
const running = new Map<string, Promise<GitInfo | null>>()

/** Null where the folder is in no repository, or Git is not there. Calls at the same time share one look. */
export function readGit(folder: string): Promise<GitInfo | null> {
  const shared = running.get(folder)
  if (shared !== undefined) return shared
  const look = lookAt(folder, AbortSignal.timeout(timeoutMs)).finally(() => running.delete(folder))
  running.set(folder, look)
  return look
}

async function lookAt(folder: string, signal: AbortSignal): Promise<GitInfo | null> {
  const ask = async (...args: string[]) => (await runGit(['-C', folder, ...args], signal)).output
  const line = async (...args: string[]) => (await ask(...args))?.replace(/\n$/, '')
  const [places, commit, short, branch, settings] = await Promise.all([
    line('rev-parse', '--show-toplevel', '--absolute-git-dir', '--git-common-dir'),
    line('rev-parse', '--verify', '--quiet', 'HEAD'),
    line('rev-parse', '--verify', '--quiet', '--short', 'HEAD'),
    line('symbolic-ref', '--quiet', '--short', 'HEAD'),
    ask('config', '--null', '--get-regexp', '^(core\\.|remote\\..*\\.url$)')
  ])
  const [topLevel, gitDir, commonDir, ...more] = places?.split('\n') ?? []
  if (topLevel === undefined || gitDir === undefined || commonDir === undefined || more.length > 0) return null
  const entries = parseSettings(settings ?? '')
  const status = await readStatus(
    // Relative to the folder, where it is not absolute.
    { topLevel, gitDir, commonDir: resolve(folder, commonDir), commit, core: entries },
    signal
  )
  return {
    remote: findRemote(entries) ?? null,
    branch: branch ?? null,
    commit: commit ?? null,
    commit_short: short ?? null,
    status: status ?? null
  }
}

/** Key and value are parted by a line end, entries end with NUL. */
function parseSettings(text: string): [string, string][] {
  return text.split('\0').flatMap((entry): [string, string][] => {
    const end = entry.indexOf('\n')
    return end === -1 ? [] : [[entry.slice(0, end), entry.slice(end + 1)]]
  })
}

/** That of `origin`, else the first. */
function findRemote(settings: readonly (readonly [string, string])[]): string | undefined {
  const remotes = settings.filter(([key]) => key.startsWith('remote.'))
  const [, address] = remotes.find(([key]) => key === 'remote.origin.url') ?? remotes[0] ?? []
  return address === undefined ? undefined : toShownRemote(address)
}
