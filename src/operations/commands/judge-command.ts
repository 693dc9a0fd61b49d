// Judges a shell command before it runs: what it would discard of the uncommitted work of others is refused, and kept in any case.
import { realpathSync } from 'node:fs'
import { relative, sep } from 'node:path'
import type { OperationContext } from '../../engine/call/context.ts'
import { keepBoundsOf, keepUnsaved } from '../../engine/commands/keep-unsaved.ts'
import { maskSecrets } from '../../engine/commands/mask-secrets.ts'
import { orUndefined } from '../../support/attempt.ts'
import { anySignal } from '../../support/lazy-signal.ts'
import type { Unsaved } from '../../support/project/unsaved.ts'
import type { CommandLine } from '../../support/shell/simple-command.ts'
import { LookFailed, type Look } from '../discards/discard.ts'
import { findLostFiles, type TakenFile } from '../discards/lost-files.ts'
import { isAuthor } from '../discards/lost-lines.ts'
import { plansOf } from '../discards/plans.ts'
import { takenByLine, unreadable, type TakenByLine } from './taken-by-line.ts'
import {
  maxFiles,
  quoteLine,
  refusalText,
  sweptText,
  unknownText,
  unopenedText,
  type Found,
  type LostFile
} from '../discards/words.ts'

export interface JudgedCommand {
  readonly agentId: string
  /** The command line. */
  readonly command: string
  /** The same, as it is read; undefined if it cannot be. */
  readonly line: CommandLine | undefined
  /** Absolute: where it runs. */
  readonly cwd: string
}

export interface CommandVerdict {
  /** Why it must not run, and what to do instead; undefined if it may. */
  readonly refusal?: string
  /** What the session is to know though it may run. */
  readonly note?: string
}

/** Paths that one command would take and whose lines are looked at. */
const maxJudged = 2000
/** How long a command waits for its judgement at most, in milliseconds. */
export const maxJudgeMs = 20_000

/** Never throws: what cannot be judged passes. A command that can discard nothing costs nothing. */
export async function judgeCommand(context: OperationContext, judged: JudgedCommand): Promise<CommandVerdict> {
  const { hooks } = context.config
  if (hooks.git === 'off') return {}
  try {
    const plans = judged.line === undefined ? [unreadable] : plansOf(judged.line)
    if (plans.length === 0) return {}
    const signal = anySignal(context.signal, AbortSignal.timeout(maxJudgeMs))
    const found = await takenByLine(plans, { history: context.history, cwd: judged.cwd, signal })
    return await createJudge(context, judged, signal).verdict(found)
  } catch (error) {
    if (!(error instanceof LookFailed)) context.log.error({ err: error }, 'a command could not be judged')
    return { note: unknownText(['what this command would discard']) }
  }
}

function createJudge(context: OperationContext, { agentId, command, cwd }: JudgedCommand, signal: AbortSignal) {
  const { config, files } = context
  const unsavedOf = new Map<Look, Unsaved>()

  async function verdict({ looks, taken, ignored, swept, unknown, unopened }: TakenByLine): Promise<CommandVerdict> {
    const bounds = keepBoundsOf(config)
    for (const look of looks) unsavedOf.set(look, await look.unsaved())
    const paths = new Set(
      [...[...unsavedOf.values()].flatMap((one) => [...one.files.keys()]), ...taken.keys(), ...ignored].filter(isServed)
    )
    if (bounds !== undefined) await keepUnsaved(paths, context, bounds)
    const notes: string[] = []
    if (config.hooks.git === 'refuse') {
      const found = await findTaken(taken)
      if (found.lost.length + found.notLooked > 0) return { refusal: refuse(found) }
      const others = await findSwept(swept)
      if (others.length > 0) notes.push(sweptText(others, agentId))
    }
    if (unknown.length > 0) notes.push(unknownText(unknown))
    if (unopened.size > 0) notes.push(unopenedText([...unopened]))
    return notes.length === 0 ? {} : { note: notes.join('\n') }
  }

  function refuse(found: Found): string {
    const masked = maskSecrets(command)
    const files = found.lost.slice(0, maxFiles).map(({ shown }) => shown)
    context.activity.troubles.refusedCommand({
      agent_id: agentId,
      command: quoteLine(masked),
      files,
      further_files: found.lost.length + found.notLooked - files.length,
      others: [...new Set(found.lost.flatMap(({ lost }) => [...lost.keys()]))].filter(isAuthor).slice(0, maxFiles)
    })
    return refusalText(agentId, masked, found)
  }

  async function findTaken(taken: TakenByLine['taken']): Promise<Found> {
    const all = [...taken].filter(([path]) => isServed(path))
    const judged = all.slice(0, maxJudged)
    const lost = await findLostFiles(context, agentId, judged, { unsavedOf, shownOf, signal })
    const isOwn = ([path, { left }]: readonly [string, TakenFile]) => !lost.has(path) && left !== 'nothing'
    return {
      lost: [...lost.values()],
      notLooked: all.length - judged.length,
      own: judged.filter(isOwn).map(([path]) => shownOf(path))
    }
  }

  async function findSwept(swept: TakenByLine['swept']): Promise<readonly LostFile[]> {
    const judged = [...swept].filter(([path]) => isServed(path)).slice(0, maxJudged)
    return [...(await findLostFiles(context, agentId, judged, { unsavedOf, shownOf, signal })).values()]
  }

  function isServed(path: string): boolean {
    return files.roots.some(({ real }) => path.startsWith(real.endsWith(sep) ? real : real + sep))
  }

  function shownOf(path: string): string {
    const below = relative(orUndefined(() => realpathSync(cwd)) ?? cwd, path)
    return below.startsWith('..') ? path : below
  }

  return { verdict }
}
