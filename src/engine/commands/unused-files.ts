// Files that nobody has used: what they are before a command that may write to any, and which of them it has changed.
import type { ExamineParts } from '../watcher/examine.ts'
import { findCleanBases, type Clean } from './clean-bases.ts'
import type { FoundChange } from './found-change.ts'
import { keepUnsaved, type KeepBounds } from './keep-unsaved.ts'
import { look } from './look.ts'
import type { OpenCommand } from './open-command.ts'
import type { StatesBefore } from './states-before.ts'
import type { Surveys, TreeChanges, Unused } from './tree-changes.ts'

export interface UnusedParts extends ExamineParts {
  /** What has changed below the roots beside the files in use. */
  readonly treeChanges: TreeChanges
  /** Undefined while nothing is to be kept. */
  readonly keepBounds: () => KeepBounds | undefined
  /** How long a command waits at most until it is known what differs from HEAD. */
  readonly lookMs: () => number
}

/**
 * Finds what differs from HEAD, and keeps it if it is to be kept: a command may change it.
 * @param running commands that are not over yet
 * @returns undefined if nothing is looked for
 */
export async function lookAround(
  all: UnusedParts,
  states: StatesBefore,
  running: () => readonly OpenCommand[]
): Promise<Surveys | undefined> {
  const { treeChanges, keepBounds, lookMs, ...parts } = all
  if (lookMs() === 0) return undefined
  const surveys = await treeChanges.look()
  const bounds = keepBounds()
  const paths = [...(surveys?.values() ?? [])].flatMap(({ files }) => [...files.keys()])
  await states.findAll(paths, running(), surveys)
  if (bounds !== undefined) await keepUnsaved(paths, parts, bounds)
  return surveys
}

/** What may have changed since the command began, of files that are not in use. */
export async function findUnused(command: OpenCommand, parts: UnusedParts): Promise<readonly FoundChange[]> {
  const { history, bases, treeChanges } = parts
  const changes = new Map<string, FoundChange>()
  const clean: Clean[] = []
  const toNamed = (path: string): Unused => ({ path, wasThere: !command.absent.has(path) })
  const paths = command.isWhole ? [] : await treeChanges.since(command.begun, command.before)
  for (const { path, wasThere, cleanIn, hasCome } of [...paths, ...[...command.effect.files].map(toNamed)]) {
    if (history.last(path) !== undefined || changes.has(path)) continue
    const now = await look(path, parts)
    if (now === undefined || (now.kind === 'none' && wasThere !== true)) continue
    const change = { path, now, ...(wasThere !== undefined && { wasThere }), ...(hasCome && { hasCome }) }
    changes.set(path, change)
    if (cleanIn !== undefined && wasThere === true)
      clean.push({ path, tree: cleanIn, mode: now.kind === 'file' ? now.identity.mode : undefined })
  }
  for (const [path, base] of await findCleanBases(clean, bases)) {
    const change = changes.get(path)!
    // Git may have left it out of its index only.
    if (change.hasCome === true && change.now.kind === 'file' && change.now.hash === base.hash) changes.delete(path)
    else changes.set(path, { ...change, base })
  }
  return [...changes.values()]
}
