// What an operator may have to look at though it is over: the last of each kind, in memory alone.
import type { TreeActivity } from '../../../schemas/activity.ts'
import { timestamp } from '../../support/timestamp.ts'

type Circle = TreeActivity['refused_circles'][number]
type RefusedCommand = TreeActivity['refused_commands'][number]
type LateChange = NonNullable<TreeActivity['late_changes']>[number]

export interface Encounter {
  readonly path: string
  /** The agent that came too late. */
  readonly late: string
  /** The author of the version that it met. */
  readonly first: string
}

interface Rivals extends Encounter {
  /** The latest last. */
  readonly times: readonly number[]
}

const maxCircles = 20
const maxCommands = 20
const maxLateChanges = 300
const maxRivals = 500
const maxTimes = 10
const maxListedRivals = 50

export function createTroubles(now: () => number) {
  let circles: readonly Circle[] = []
  let commands: readonly RefusedCommand[] = []
  let lateChanges: readonly LateChange[] = []
  /** By file and pair; the last to meet at the end. */
  const rivals = new Map<string, Rivals>()

  function listRivals(): TreeActivity['rivals'] {
    const again = [...rivals.values()].filter(({ times }) => times.length > 1)
    return again
      .slice(-maxListedRivals)
      .toReversed()
      .map(({ path, late, first, times }) => ({
        path,
        late_agent_id: late,
        agent_id: first,
        times: times.map((at) => timestamp(at))
      }))
  }

  return {
    refusedCircle(waits: Circle['waits']): void {
      circles = [{ at: timestamp(now()), waits: [...waits] }, ...circles].slice(0, maxCircles)
    },
    refusedCommand(command: Omit<RefusedCommand, 'at'>): void {
      commands = [{ at: timestamp(now()), ...command }, ...commands].slice(0, maxCommands)
    },
    lateChange(change: LateChange): void {
      lateChanges = [change, ...lateChanges].slice(0, maxLateChanges)
    },
    /** A change was refused since it came too late. */
    met({ path, late, first }: Encounter): void {
      const key = JSON.stringify([path, ...[late, first].sort()])
      const times = [...(rivals.get(key)?.times ?? []), now()].slice(-maxTimes)
      rivals.delete(key)
      rivals.set(key, { path, late, first, times })
      const [oldest] = rivals.keys()
      if (rivals.size > maxRivals) rivals.delete(oldest as string)
    },
    /** The latest first. */
    lateChanges: (): LateChange[] => [...lateChanges],
    list: (): Pick<TreeActivity, 'refused_circles' | 'refused_commands' | 'rivals'> => ({
      refused_circles: [...circles],
      refused_commands: [...commands],
      rivals: listRivals()
    })
  }
}
