// async_blame: who made each line of a file, from the kept versions, and before them from Git.
import { contract } from '../../schemas/contract.ts'
import type { BlameInput, BlameOutput } from '../../schemas/blame.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { diffLines } from '../engine/diff/hunks.ts'
import { splitLines, splitMark } from '../engine/diff/lines.ts'
import { decodeText } from '../engine/files/text.ts'
import { blameWithGit, type GitLine } from '../support/project/git-blame.ts'
import { timestamp } from '../support/timestamp.ts'
import { findOwners, type Owned } from './blame/owners.ts'
import { toRanges } from './blame/ranges.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { awaitCommands } from './commands/bracket.ts'
import { readLocked } from './locking/read-locked.ts'
import { itemsThatFit } from './answer-size.ts'

export const asyncBlame = defineOperation({
  name: 'async_blame',
  title: 'Show who made each line',
  description:
    'Who made each line of a file, or of a range of it: the agent, the operation, its change set, the version and the time, from the versions that the server keeps, over renames. Lines that are in HEAD have the commit, and those that were there before the server its author.',
  ...contract.async_blame,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors, 'FILE_NOT_FOUND', 'FILE_TOO_LARGE', 'ENCODING_ERROR', 'LOCK_TIMEOUT', 'DEADLOCK'],
  handle: blame
})

async function blame(
  { path, start_line, end_line }: BlameInput,
  context: OperationContext
): Promise<Static<typeof BlameOutput>> {
  await awaitCommands(context)
  const { version, canonicalPath: canonical } = await readLocked(context, path, 'async_blame')
  const text = decodeText(version.bytes, context.config.crud.default_encoding, path)
  const owned = await findOwners(context, canonical, text)
  const commits = await commitsOf(canonical, owned)
  const last = Math.min(end_line ?? Infinity, owned.lines.length)
  const ranges = toRanges(owned.owners, start_line, last, (line) => commits?.[line])
  const shown = itemsThatFit(ranges, context.caller.maxAnswerChars)
  const next = ranges[shown.length]
  const { forgottenAt } = context.history
  return {
    status: 'ok',
    path,
    hash: version.hash,
    total_lines: owned.lines.length,
    ...(next !== undefined && { next_start_line: next.start_line }),
    ranges: shown,
    ...(forgottenAt !== undefined && { forgotten_before: timestamp(forgottenAt) }),
    timestamp: timestamp()
  }
}

/** Of each line that is in HEAD. */
async function commitsOf(path: string, { lines }: Owned): Promise<(GitLine | undefined)[] | undefined> {
  const git = await blameWithGit(path)
  const bound = { maxEditLength: 2000, timeoutMs: 50 }
  return git && kept(splitLines(splitMark(git.text).body), lines, git.lines, bound)
}

/** What is known of the lines of one text, for those that another text still has. */
function kept<Fact>(
  from: readonly string[],
  to: readonly string[],
  facts: readonly (Fact | undefined)[],
  bound: Parameters<typeof diffLines>[2]
): (Fact | undefined)[] {
  const found: (Fact | undefined)[] = Array.from({ length: to.length })
  let [at, next] = [0, 0]
  const copy = (end: number) => {
    for (; at < end; at += 1) found[next++] = facts[at]
  }
  for (const { baseStart, baseEnd, currentEnd } of diffLines(from, to, bound).hunks) {
    copy(baseStart)
    at = baseEnd
    next = currentEnd
  }
  copy(from.length)
  return found
}
