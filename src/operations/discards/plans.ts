// Which commands of a line can discard uncommitted work, by their words alone: no program is asked, no file read.
import { nameOf } from '../../support/shell/unwrap.ts'
import type { CommandLine, SimpleCommand } from '../../support/shell/simple-command.ts'
import { mayBeAlias, readGitCall, type GitCall } from './git-call.ts'
import { discarding } from './git-discard.ts'

export type Plan =
  | { readonly kind: 'git'; readonly call: GitCall }
  | { readonly kind: 'alias'; readonly call: GitCall }
  | { readonly kind: 'add'; readonly call: GitCall }
  | { readonly kind: 'commit'; readonly call: GitCall }
  | { readonly kind: 'removal'; readonly command: SimpleCommand; readonly name: 'rm' | 'find' }
  /** It can discard work, and is let pass: Git refuses most of it itself. */
  | { readonly kind: 'keep'; readonly folder: string | undefined }
  | { readonly kind: 'unknown'; readonly why: string }

/** Commands of Git that can discard work and are not judged. */
const keeping: ReadonlySet<string> = new Set([
  'am',
  'apply',
  'bisect',
  'checkout-index',
  'cherry-pick',
  'filter-branch',
  'merge',
  'pull',
  'read-tree',
  'rebase',
  'revert',
  'sparse-checkout',
  'submodule',
  'worktree'
])

export function plansOf({ commands, unknown }: CommandLine): Plan[] {
  const found = commands.flatMap((command) => planOf(command) ?? [])
  // What is staged matters to a commit in the same line.
  const hasCommit = found.some(({ kind }) => kind === 'commit')
  const plans = hasCommit ? found : found.filter(({ kind }) => kind !== 'add')
  return [...plans, ...unknown.map((why): Plan => ({ kind: 'unknown', why }))]
}

function planOf(command: SimpleCommand): Plan | undefined {
  const name = nameOf(command.words[0])
  if (name === 'rm' && mayRemove(command)) return { kind: 'removal', command, name }
  if (name === 'find' && command.words.some((word) => word?.text === '-delete'))
    return { kind: 'removal', command, name }
  if (name !== 'git') return undefined
  const call = readGitCall(command)
  if (call === undefined) return undefined
  return typeof call === 'string' ? { kind: 'unknown', why: call } : planOfCall(call)
}

export function planOfCall(call: GitCall): Plan | undefined {
  const { verb, folder } = call
  if (discarding.has(verb)) return mayDiscard(call) ? { kind: 'git', call } : undefined
  if (verb === 'commit') return { kind: 'commit', call }
  if (verb === 'add' || verb === 'stage') return { kind: 'add', call }
  if (keeping.has(verb)) return { kind: 'keep', folder }
  return mayBeAlias(call) ? { kind: 'alias', call } : undefined
}

function mayRemove({ words, moreFrom }: SimpleCommand): boolean {
  return moreFrom !== undefined || words.some((word) => word === undefined || /^-\w*[rR]|^--r/.test(word.text))
}

/** The harmless forms that are used most: they need no look at the repository. */
function mayDiscard({ verb, args }: GitCall): boolean {
  const has = (form: RegExp) => args.some((arg) => arg === undefined || form.test(arg.text))
  switch (verb) {
    case 'reset':
      return has(/^--(?:h|me)/)
    case 'switch':
      return has(/^-[A-Za-z]*f|^--(?:f|di)/)
    case 'checkout':
      return !has(/^-[bB]$|^--orphan/) || has(/^-[A-Za-z]*f|^--f/)
    case 'restore':
      return !has(/^-S$|^--st/) || has(/^-[A-Za-z]*W|^--w/)
    case 'rm':
      return has(/^-[a-z]*f|^--f/)
    case 'stash':
      return !/^(?:apply|branch|clear|create|drop|export|import|list|pop|show|store)$/.test(args[0]?.text ?? '')
    default:
      return true
  }
}
