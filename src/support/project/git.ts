// Git's facts of the repository of a folder (DUAL 2.2): read anew each time, since they change.
import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readStatus } from './git-status.ts'
import { toShownRemote } from './remote.ts'
import { findRepository, type Repository } from './repository.ts'
import { runGit } from './run-git.ts'

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
  const repository = findRepository(folder)
  if (repository === undefined) return null
  const { commonDir } = repository
  const ask = async (...args: string[]) => (await runGit(['-C', folder, ...args], signal)).output
  const line = async (...args: string[]) => (await ask(...args))?.replace(/\n$/, '')
  // From the repository's own configuration only: included files lie elsewhere.
  const own = ['config', '--file', join(commonDir, 'config'), '--no-includes', '--null']
  const [places, commit, short, branch, settings] = await Promise.all([
    line('rev-parse', '--show-toplevel', '--absolute-git-dir', '--git-common-dir'),
    line('rev-parse', '--verify', '--quiet', 'HEAD'),
    line('rev-parse', '--verify', '--quiet', '--short', 'HEAD'),
    line('symbolic-ref', '--quiet', '--short', 'HEAD'),
    ask(...own, '--get-regexp', '^(core\\.|remote\\..*\\.url$)')
  ])
  if (!isSame(repository, folder, places?.split('\n') ?? [])) return null
  const entries = parseSettings(settings ?? '')
  const status = await readStatus({ ...repository, commit, core: entries }, signal)
  return {
    remote: findRemote(entries) ?? null,
    branch: branch ?? null,
    commit: commit ?? null,
    commit_short: short ?? null,
    status: status ?? null
  }
}

/** False if Git means other folders than those found: it is not installed, refuses the repository, or was led elsewhere. */
function isSame({ workTree, gitDir, commonDir }: Repository, folder: string, places: readonly string[]): boolean {
  // The last is relative to the folder, if it is not absolute.
  const real = places.map((place) => realOf(resolve(folder, place)))
  return real.join('\n') === [workTree, gitDir, commonDir].join('\n')
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** A line end separates key and value; NUL ends an entry. */
function parseSettings(text: string): [string, string][] {
  return text.split('\0').flatMap((entry): [string, string][] => {
    const end = entry.indexOf('\n')
    return end === -1 ? [] : [[entry.slice(0, end), entry.slice(end + 1)]]
  })
}

/** The remote `origin`, else the first. */
function findRemote(settings: readonly (readonly [string, string])[]): string | undefined {
  const remotes = settings.filter(([key]) => key.startsWith('remote.'))
  const [, address] = remotes.find(([key]) => key === 'remote.origin.url') ?? remotes[0] ?? []
  return address === undefined ? undefined : toShownRemote(address)
}
