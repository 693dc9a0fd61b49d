// Neighbouring lines of one change, in the words of the contract.
import type { BlameRange } from '../../../schemas/blame.ts'
import { commandOf } from '../../engine/versions/modification.ts'
import type { GitLine } from '../../support/project/git-blame.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { Owner } from './owners.ts'

type Blamed = Omit<BlameRange, 'start_line' | 'end_line'>

/** @param first 1-based @param last inclusive @param commitOf the commit of a line, 0-based, that is in HEAD */
export function toRanges(
  owners: readonly Owner[],
  first: number,
  last: number,
  commitOf: (line: number) => GitLine | undefined
): BlameRange[] {
  const ranges: BlameRange[] = []
  let key: string | undefined
  for (let line = first; line <= last; line += 1) {
    const blamed = describe(owners[line - 1]!, commitOf(line - 1))
    const own = JSON.stringify(blamed)
    const before = ranges.at(-1)
    if (before !== undefined && own === key) before.end_line = line
    else ranges.push({ start_line: line, end_line: line, ...blamed })
    key = own
  }
  return ranges
}

function describe(owner: Owner, commit: GitLine | undefined): Blamed {
  if (owner === 'unknown') return { agent_id: null, is_known: false }
  if (owner === 'before')
    return {
      agent_id: null,
      ...(commit !== undefined && { commit: commit.commit, author: commit.author, at: timestamp(commit.at) })
    }
  const { agentId, operation, changeSet, hash, at } = owner.version
  return {
    agent_id: agentId,
    operation,
    ...(changeSet !== undefined && { change_set: changeSet }),
    ...commandOf(owner.version),
    hash: hash as string,
    ...(commit !== undefined && { commit: commit.commit }),
    at: timestamp(at)
  }
}
