// The engine of this process itself: carries operations out, and answers what is asked of the tree beside them.
import type { Config } from '../../../schemas/config.ts'
import { serverStopping } from '../../errors.ts'
import { paceProgress } from '../../support/progress.ts'
import { ratesOf } from '../activity/rates.ts'
import { recallChanges } from '../events/file-events.ts'
import { listLocks } from '../leases/lock-listing.ts'
import { listTracked } from '../versions/tracked-files.ts'
import { createContexts } from './call-context.ts'
import type { CallTurns } from './call-turns.ts'
import type { EngineLink, Questions } from './engine-link.ts'
import { createRunningCalls } from './running-calls.ts'

type Answers = {
  readonly [Name in keyof Questions]: (
    asked: Questions[Name]['asked']
  ) => Questions[Name]['answer'] | Promise<Questions[Name]['answer']>
}

export interface LocalEngine extends EngineLink {
  /** Ends the waits of a connection for leases, and no lease. */
  readonly cancelWaits: (connection: string) => void
  /** The sessions and connections with which leases end. */
  readonly leaseConnections: () => Iterable<string>
  /** The names of the calls whose places are kept until their relays ask again. */
  readonly places: () => readonly string[]
  /** The versions of an earlier authority are being restored: calls that are about more than leases wait until then. */
  awaitVersions(restored: Promise<void>): void
  /** Refuses new calls, answers waiting ones, and lets calls that hold their lock finish within this time. */
  stop(limitMs: number): Promise<void>
  /** Calls begun and ended so far. */
  steps(): number
}

interface LocalEngineOptions {
  readonly parts: Parameters<typeof createContexts>[0]
  /** The current settings. */
  readonly config: () => Config
  readonly turns: CallTurns
  /** Between two reports of a call's progress. */
  readonly progressMs: number
  readonly releaseOnDisconnect: boolean
}

export function createLocalEngine({
  parts,
  config,
  turns,
  progressMs,
  releaseOnDisconnect
}: LocalEngineOptions): LocalEngine {
  const { locks, tickets, commits, commands, files, history, events, activity, nativeTurns, log } = parts
  const contextOf = createContexts(parts)
  const running = createRunningCalls()
  let isStopping = false
  let restoring: Promise<void> | undefined
  const answers: Answers = {
    holds_leases: ({ connection }) => releaseOnDisconnect && locks.leases.hasConnection(connection),
    list_locks: (query) => listLocks(locks, query),
    async list_activity({ minutes, limit, agent_id: agentId, by, with: more }) {
      const agent = agentId === undefined ? undefined : activity.agents.factsOf(agentId)
      const listed = {
        ...activity.list(minutes, limit),
        ...(agent !== undefined && { agent }),
        ...(more === 'late_changes' && { late_changes: activity.troubles.lateChanges() })
      }
      if (by === undefined) return listed
      await restoring
      return { ...listed, rates: await ratesOf({ activity, history, files }, minutes, by) }
    },
    async list_files({ after, limit }) {
      await restoring
      return listTracked(history, after, limit)
    },
    async list_changes({ since, limit }) {
      await restoring
      return recallChanges(history, since, limit)
    }
  }

  return {
    async call(operation, input, call) {
      const turn = turns.next()
      if (turn !== undefined) await turn
      if (restoring !== undefined && !operation.name.startsWith('lock_')) await restoring
      if (isStopping) throw serverStopping()
      const current = config()
      if (call.progress === undefined) return running.track(operation.call(input, contextOf(current, call)))
      const { report, end } = paceProgress(call.progress, progressMs)
      const answered = operation.call(input, contextOf(current, { ...call, progress: report }))
      return running.track(answered.finally(end))
    },
    disconnect(connection) {
      if (!releaseOnDisconnect) return
      const count = locks.leases.disconnect(connection)
      if (count > 0) log.info({ connection, count }, 'leases ended with their connection')
    },
    endPlace: (place) => tickets.giveUp(place),
    places: tickets.places,
    cancelWaits: (connection) => locks.leases.cancelRequests(connection),
    leaseConnections: () => locks.leases.connections(),
    ask: async (question) => answers[question.type](question),
    feed: async (listener) => events.follow({}, listener).end,
    steps: running.steps,
    awaitVersions(restored) {
      restoring = restored.catch((error: unknown) => log.error({ err: error }, 'versions could not be restored'))
      void restoring.then(() => (restoring = undefined))
    },
    async stop(limitMs) {
      isStopping = true
      locks.close()
      await nativeTurns.end()
      await running.ended(limitMs)
      commands.close()
      commits.close()
    }
  }
}
