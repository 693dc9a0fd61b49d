// Which commit brought each line of a file in HEAD, for the lines that were there before the server saw the file.
import { dirname, relative } from 'node:path'
import { withSlashes } from '../slashes.ts'
import { findRepository } from './repository.ts'
import { runGit } from './run-git.ts'

export interface GitLine {
  readonly commit: string
  readonly author: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface GitBlame {
  /** Of the file in HEAD. */
  readonly text: string
  /** One for each line. */
  readonly lines: readonly (GitLine | undefined)[]
}

const timeoutMs = 5000
const maxBytes = 4 * 1024 * 1024

/** Undefined if the file is in no commit, or Git cannot tell in time. */
export async function blameWithGit(path: string): Promise<GitBlame | undefined> {
  const repository = findRepository(dirname(path))
  if (repository === undefined) return undefined
  const { gitDir, workTree } = repository
  const name = withSlashes(relative(workTree, path))
  const signal = AbortSignal.timeout(timeoutMs)
  // No program that the repository names: neither a text conversion, nor a filter, which only the work tree would need.
  const run = (...args: string[]) => runGit(['--git-dir', gitDir, ...args], signal, {}, maxBytes)
  const [text, blame] = await Promise.all([
    run('cat-file', 'blob', `HEAD:${name}`),
    run('blame', '--incremental', '--no-textconv', 'HEAD', '--', name)
  ])
  return text === undefined || blame === undefined ? undefined : { text, lines: parse(blame) }
}

/** Groups of `<commit> <line there> <line here> <count>`, with the facts of a commit at its first group. */
function parse(output: string): (GitLine | undefined)[] {
  const lines: (GitLine | undefined)[] = []
  const known = new Map<string, { author: string; at: number }>()
  let commit = ''
  let group = { start: 0, count: 0 }
  for (const line of output.split('\n')) {
    const head = /^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$/.exec(line)
    if (head !== null) {
      commit = head[1]!
      group = { start: Number(head[2]) - 1, count: Number(head[3]) }
      if (!known.has(commit)) known.set(commit, { author: '', at: 0 })
      continue
    }
    const facts = known.get(commit)
    if (facts === undefined) continue
    if (line.startsWith('author ')) facts.author = line.slice('author '.length)
    else if (line.startsWith('author-time ')) facts.at = Number(line.slice('author-time '.length)) * 1000
    // The last line of a group.
    else if (line.startsWith('filename '))
      for (let at = 0; at < group.count; at += 1) lines[group.start + at] = { commit, ...facts }
  }
  return lines
}
