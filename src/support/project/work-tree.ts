// Opens the repository of a folder: which commit HEAD is, and what its own configuration says, read as words.
import { existsSync, realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { withSlashes } from '../slashes.ts'
import { orUndefined } from '../attempt.ts'
import { findRepository, type Repository } from './repository.ts'
import { runGit } from './run-git.ts'

export interface WorkTree extends Repository {
  /** Undefined in an empty repository. */
  readonly commit: string | undefined
  /** The entries of `core`, `alias` and the addresses of remotes in the configuration of the repository, then of its working tree. */
  readonly settings: readonly (readonly [string, string])[]
}

/** Undefined if the folder is in no repository of its own, or Git is not there, or refuses it. */
export async function openWorkTree(folder: string, signal: AbortSignal): Promise<WorkTree | undefined> {
  const repository = findRepository(folder)
  if (repository === undefined) return undefined
  const ask = (...args: string[]) => runGit(['-C', folder, ...args], signal)
  // From the repository's own configuration only: included files lie elsewhere.
  const own = ['config', '--file', join(repository.commonDir, 'config'), '--no-includes', '--null']
  const named = ['--get-regexp', '^(core\\.|alias\\.|remote\\..*\\.url$)']
  const ofTree = join(repository.gitDir, 'config.worktree')
  const [facts, settings = '', more = ''] = await Promise.all([
    ask('rev-parse', '--show-toplevel', '--absolute-git-dir', '--git-common-dir', '--revs-only', 'HEAD'),
    ask(...own, ...named),
    existsSync(ofTree) ? ask('config', '--file', ofTree, '--no-includes', '--null', ...named) : undefined
  ])
  const [top = '', gitDir = '', commonDir = '', commit] = (facts ?? '').replace(/\n$/, '').split('\n')
  if (!isSame(repository, folder, [top, gitDir, commonDir])) return undefined
  return { ...repository, commit, settings: parseSettings(settings + more) }
}

/** As Git spells it: relative to the working tree, with slashes. */
export function nameIn({ workTree }: Pick<WorkTree, 'workTree'>, path: string): string {
  return withSlashes(relative(workTree, path))
}

/** False if Git means other folders than those found: it is not installed, refuses the repository, or was led elsewhere. */
function isSame({ workTree, gitDir, commonDir }: Repository, folder: string, places: readonly string[]): boolean {
  // The last is relative to the folder, if it is not absolute.
  const real = places.map((place) => orUndefined(() => realpathSync(resolve(folder, place))))
  return real.join('\n') === [workTree, gitDir, commonDir].join('\n')
}

/** A line end separates key and value; NUL ends an entry. */
function parseSettings(text: string): [string, string][] {
  return text.split('\0').flatMap((entry): [string, string][] => {
    const end = entry.indexOf('\n')
    return end === -1 ? [] : [[entry.slice(0, end), entry.slice(end + 1)]]
  })
}
