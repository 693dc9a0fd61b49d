// The hunks between two versions of a file, each pair compared once.
import type { Change } from '../../../schemas/diff.ts'
import type { Config } from '../../../schemas/config.ts'
import type { Logger } from '../../support/logger.ts'
import type { Differ } from '../diff/differ.ts'
import type { Hunk } from '../diff/hunks.ts'
import { decodeText } from '../files/text.ts'
import type { Bases } from '../versions/bases.ts'

/** Undefined if they are not known: a version is not kept, is no text, or they cost too much to compare. */
export type HunkFinder = (from: string | null, to: string | null) => Promise<readonly Hunk[] | undefined>

export interface HunkParts {
  readonly bases: Pick<Bases, 'get'>
  readonly differ: Pick<Differ, 'compare'>
  readonly config: Pick<Config, 'crud'>
  readonly log: Logger
}

export function createHunkFinder({ bases, differ, config, log }: HunkParts, signal: AbortSignal): HunkFinder {
  const found = new Map<string, readonly Hunk[] | undefined>()
  async function textOf(hash: string): Promise<string | undefined> {
    const bytes = await bases.get(hash)
    return bytes && decodeText(bytes, config.crud.default_encoding, hash)
  }

  async function find(from: string | null, to: string | null): Promise<readonly Hunk[] | undefined> {
    if (from === null || to === null) return undefined
    try {
      const [base, current] = await Promise.all([textOf(from), textOf(to)])
      if (base === undefined || current === undefined) return undefined
      const { diff } = await differ.compare({ base, current, format: 'json', isWhole: true, signal })
      return diff?.changes?.map(toHunk)
    } catch (error) {
      // Not text, or too much to compare in time.
      log.debug({ err: error }, 'versions were not compared by lines')
      return undefined
    }
  }

  return async (from, to) => {
    if (from === to) return []
    const key = `${from} ${to}`
    if (!found.has(key)) found.set(key, await find(from, to))
    return found.get(key)
  }
}

function toHunk({ type, start_line, end_line, base_start_line, current_start_line, new_content }: Change): Hunk {
  const baseStart = base_start_line - 1
  const currentStart = current_start_line - 1
  const added = type === 'added' ? end_line - start_line + 1 : 0
  const replacing = type === 'modified' ? (new_content ?? '').split(/\r\n|\r|\n/).length : 0
  return {
    baseStart,
    baseEnd: type === 'added' ? baseStart : end_line,
    currentStart,
    currentEnd: currentStart + added + replacing
  }
}
