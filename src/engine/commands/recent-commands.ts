// The commands that are open, and those that have ended while one was open that still is, or so lately that changes of theirs may not be noticed yet.
import type { Moment } from './file-clock.ts'
import type { OpenCommand } from './open-command.ts'

/** Remembered beside those that are open. */
const maxEnded = 1000

export type RecentCommands = ReturnType<typeof createRecentCommands>

type EndedCommand = OpenCommand & { readonly ended: Moment }

/** @param keepMs that a command is remembered behind its end */
export function createRecentCommands(keepMs: number) {
  // Each in the order in which they began.
  const all = new Set<OpenCommand>()
  const open = new Set<OpenCommand>()
  const unsettled = new Set<OpenCommand>()
  /** In the order in which they ended. */
  const ended: EndedCommand[] = []

  return {
    open: open as ReadonlySet<OpenCommand>,
    /** Those of which not all is logged that they have made. */
    unsettled: unsettled as ReadonlySet<OpenCommand>,
    /** Its end will tell more, and comes soon. */
    isAwaited: (command: OpenCommand): boolean => unsettled.has(command) && command.task === undefined,
    /** Whether another command has been open since this one began, which is open. */
    hasOverlapped(this: void, { begun }: OpenCommand): boolean {
      const last = ended.at(-1)
      return open.size > 1 || (last !== undefined && last.ended.at >= begun.at)
    },
    /** When the first of all began. */
    firstBegun: (): Moment | undefined => all.values().next().value?.begun,
    /** The one that ended last is the first. */
    *ended(): Iterable<EndedCommand> {
      for (let index = ended.length - 1; index >= 0; index -= 1) yield ended[index]!
    },
    add(command: OpenCommand): void {
      for (const some of [all, open, unsettled]) some.add(command)
    },
    end(command: OpenCommand, at: Moment): void {
      open.delete(command)
      ended.push(Object.assign(command, { ended: at }))
    },
    settle: (command: OpenCommand): void => void unsettled.delete(command),
    /** One that has ended may have made what a longer one finds at its own end, or what is still to be found at its own. */
    forgetEnded(this: void): void {
      const firstAwaited = Math.min(...[...unsettled].map(({ begun }) => begun.at))
      const before = Math.min(firstAwaited, Date.now() - keepMs)
      const isOld = (one: EndedCommand, index: number) =>
        !unsettled.has(one) && (one.ended.at <= before || index < ended.length - maxEnded)
      const firstKept = ended.findIndex((one, index) => !isOld(one, index))
      for (const one of ended.splice(0, firstKept === -1 ? ended.length : firstKept)) all.delete(one)
    }
  }
}
