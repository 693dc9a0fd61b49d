// The text of a contention answer for each operation: what happened, why there is no diff, what to do next.
import type { Contention } from '../../../schemas/contention.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'

/** Operations that take an expected version. */
export type VersionedOperation = keyof typeof wordsOf

interface Words {
  /** What was not done to the file. */
  readonly done: string
  readonly withDiff: string
  readonly withoutDiff: string
}

const wordsOf = {
  async_update: {
    done: 'written',
    withDiff: 'Adjust your change by the diff, then send it with expected_hash set to current_hash.',
    withoutDiff:
      'Read the file again with async_read, adjust your change, and send it with expected_hash set to current_hash.'
  },
  async_append: {
    done: 'appended',
    withDiff: 'If your text still fits, append it with expected_hash set to current_hash.',
    withoutDiff:
      'Read the file again with async_read; if your text still fits, append it with expected_hash set to current_hash.'
  },
  async_delete: {
    done: 'deleted',
    withDiff: 'If you still want to delete the file, delete it with expected_hash set to current_hash.',
    withoutDiff:
      'Read the file again with async_read if its content matters; to delete it anyway, set expected_hash to current_hash.'
  },
  async_rename: {
    done: 'renamed',
    withDiff: 'If you still want to move the file, rename it with expected_hash set to current_hash.',
    withoutDiff:
      'Read the file again with async_read if its content matters; to rename it anyway, set expected_hash to current_hash.'
  },
  async_restore: {
    done: 'restored',
    withDiff: 'If the changes in the diff may be lost, restore with expected_hash set to current_hash.',
    withoutDiff:
      'Read the file again with async_read; if that content may be lost, restore with expected_hash set to current_hash.'
  },
  edit_file: {
    done: 'written',
    withDiff:
      'Adjust the line numbers and contents by the diff, then send the edits with expected_hash set to current_hash.',
    withoutDiff:
      'Read the file again with read_file, adjust your edits, and send them with expected_hash set to current_hash.'
  },
  command: {
    done: 'changed',
    withDiff: 'Run the command again: it then starts from the current version.',
    withoutDiff: 'Run the command again: it then starts from the current version.'
  }
} satisfies Record<string, Words>

/** Why there is no diff, or not all of it. */
export type DiffLack = 'base_unknown' | 'base_not_text' | 'current_not_text' | 'only_lines' | 'not_compared' | 'no_room'

interface Facts {
  readonly operation: VersionedOperation
  readonly path: string
  readonly encoding: string
  /** Undefined if the answer has the whole diff. */
  readonly lack: DiffLack | undefined
  /** If the update had patches that were checked. */
  readonly patchesApplicable: Contention['patches_applicable']
  readonly patchWord: 'patches' | 'hunks'
  /** If a merge was asked for and failed. */
  readonly notMerged: NotMerged | undefined
}

export function describeContention(facts: Facts): string {
  const { operation, path, lack } = facts
  const { done, withoutDiff } = wordsOf[operation]
  const happened = `${path} changed since the version you know. Nothing was ${done}.`
  const next = lack === undefined || isAdvised(facts) ? adviceFor(facts) : `${describeLack(lack, facts)} ${withoutDiff}`
  return `${describeNotMerged(facts.notMerged)}${happened} ${next}`
}

/** What is to be done is clear without the whole diff. */
function isAdvised({ lack, patchesApplicable, notMerged }: Facts): boolean {
  return lack === 'only_lines' && (patchesApplicable === true || (notMerged?.conflicts.length ?? 0) > 0)
}

function describeLack(lack: DiffLack, { encoding }: Facts): string {
  switch (lack) {
    case 'base_unknown':
      return 'There is no diff: this server does not know expected_hash (no longer kept, or never given out).'
    case 'base_not_text':
      return `There is no diff: the version you know is not text in ${encoding} (async_read takes another encoding).`
    case 'current_not_text':
      return `There is no diff: the current version is not text in ${encoding} (async_read takes another encoding).`
    case 'only_lines':
      return 'The diff costs more than reading the file again, so that it only names the lines that changed.'
    case 'no_room':
      return 'There is no diff: the answer has no room for it (crud.max_batch_answer_bytes; over MCP mcp.answer_chars). async_read reads the current version.'
    case 'not_compared':
      return 'The server could not compare the versions: it is too busy, or GET /health says what is wrong.'
    default:
      return lack satisfies never
  }
}

function adviceFor({ operation, patchesApplicable, patchWord, notMerged }: Facts): string {
  if (operation !== 'command' && notMerged !== undefined && notMerged.conflicts.length > 0)
    return 'Adjust your change at the places in merge_conflicts, then send it with expected_hash set to current_hash.'
  if (patchesApplicable === true)
    return `All your ${patchWord} still apply: send them again with expected_hash set to current_hash.`
  if (patchesApplicable === false)
    return `Adjust the ${patchWord} named in conflicts by the diff, then send them with expected_hash set to current_hash.`
  return wordsOf[operation].withDiff
}

/** Why there was no merge; the text continues with what to do about it. */
function describeNotMerged(notMerged: NotMerged | undefined): string {
  if (notMerged === undefined) return ''
  const { conflicts, further, hasContents, coarse } = notMerged
  if (conflicts.length === 0) return 'The server was too busy to merge such a large text; try again in a moment. '
  const count = conflicts.length + further
  const places = count === 1 ? 'one place' : `${count} places`
  const kind = coarse ? 'The versions are too different to compare line by line in time, so your' : 'Your'
  const contents = hasContents ? '' : ', whose contents are too large to send'
  return `${kind} change was not merged: it conflicts at ${places} (merge_conflicts${contents}). `
}
