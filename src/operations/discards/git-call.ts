// A call of Git: its folder, subcommand and arguments, with aliases put in as Git does.
import { realpathSync } from 'node:fs'
import { findRepository } from '../../support/project/repository.ts'
import { runGit } from '../../support/project/run-git.ts'
import { orUndefined } from '../../support/attempt.ts'
import { readOptions } from '../../support/shell/options.ts'
import { toFolder, type Argument, type SimpleCommand } from '../../support/shell/simple-command.ts'

export interface GitCall {
  readonly folder: string
  readonly verb: string
  readonly args: readonly Argument[]
  /** Settings of `-c`. */
  readonly settings: readonly string[]
}

const globalOptions =
  'p|paginate|P|no-pager|bare|no-replace-objects|literal-pathspecs|glob-pathspecs|noglob-pathspecs|icase-pathspecs|no-optional-locks|no-advice|v|version|h|help|html-path|man-path|info-path|flag C= c= git-dir= work-tree= namespace= exec-path? config-env= list-cmds= attr-source='

/** Arguments that cannot be told. */
const unknownText = '\0'

/** @returns undefined if it runs no subcommand; a text if it cannot be told why not */
export function readGitCall({ words, folder, variables }: SimpleCommand): GitCall | string | undefined {
  const texts = words.slice(1).map((word) => word?.text ?? unknownText)
  const { get, operands } = readOptions(texts, globalOptions, true)
  const [verb] = operands
  if (verb === undefined) return undefined
  if (verb === unknownText) return 'which command of Git it runs'
  let at = folder
  for (const to of get('C') ?? []) at = to.includes(unknownText) ? undefined : to === '' ? at : toFolder(at, to)
  const gitDir = get('git-dir')?.at(-1) ?? variables.get('GIT_DIR')
  const workTree = get('work-tree')?.at(-1) ?? variables.get('GIT_WORK_TREE')
  if (at !== undefined && (gitDir !== undefined || workTree !== undefined)) at = ownFolder(at, gitDir, workTree)
  if (at === undefined) return 'in which folder Git runs'
  return { folder: at, verb, args: words.slice(words.length - operands.length + 1), settings: get('c') ?? [] }
}

/** The folder in which Git means the same repository without the names of its folders; undefined if there is none. */
function ownFolder(folder: string, gitDir: string | undefined, workTree: string | undefined): string | undefined {
  const real = (path: string | undefined) => {
    const full = path === undefined ? undefined : toFolder(folder, path)
    return full === undefined ? undefined : orUndefined(() => realpathSync(full))
  }
  const files = workTree === undefined ? realpathSync(folder) : real(workTree)
  const repository = findRepository(files ?? '/')
  if (repository === undefined || repository.workTree !== files) return undefined
  if (gitDir !== undefined && real(gitDir) !== repository.gitDir) return undefined
  const here = orUndefined(() => realpathSync(folder))
  return here !== undefined && `${here}/`.startsWith(`${files}/`) ? here : files
}

/** The subcommands that are Git's own: no alias can have their names. */
const ownVerbs = new Set(
  'add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects credential daemon describe diff diff-files diff-index diff-tree difftool fast-export fast-import fetch filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help http-backend init instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm send-email shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree'.split(
    ' '
  )
)

export function mayBeAlias({ verb }: GitCall): boolean {
  return !ownVerbs.has(verb)
}

const timeoutMs = 5000

/** What an alias stands for, as text: nothing of it is run. Undefined if the verb is none. */
export async function aliasOf({ folder, verb, settings }: GitCall): Promise<string | undefined> {
  const name = `alias.${verb.toLowerCase()}=`
  const given = settings.findLast((setting) => setting.toLowerCase().startsWith(name))
  if (given !== undefined) return given.slice(name.length)
  const ask = ['-C', folder, 'config', '--null', '--get-regexp', '^alias\\.']
  const output = await runGit(ask, AbortSignal.timeout(timeoutMs))
  const entries = output?.split('\0').map((entry) => entry.split(/\n(.*)/s)) ?? []
  return entries.findLast(([key]) => key === `alias.${verb.toLowerCase()}`)?.[1]
}
