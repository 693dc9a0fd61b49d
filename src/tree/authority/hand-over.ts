// What a hand-over needs from each process: which connections are its own, and under which names its calls wait.
import { placePrefix } from '../../engine/leases/tickets.ts'
import { isRunning } from '../../support/process-identity.ts'
import { thisProcess, type Member } from '../state/state-file.ts'

interface HandOverOptions {
  readonly disconnect: (connection: string) => void
  /** The sessions and connections with which leases end. */
  readonly leaseConnections: () => Iterable<string>
  /** The names of the calls whose places are kept until their relays ask again. */
  readonly places: () => readonly string[]
  readonly endPlace: (place: string) => void
  /** True if another process has named it, as one of its own that is alive. */
  readonly isNamedElsewhere: (connection: string) => boolean
  /** How long leases wait for a process that names their connection. */
  readonly graceMs: () => number
}

/** Delay between two looks for a process that has to come back. This process may be suspended: it counts looks, and not the time. */
const lookMs = 50
const placePattern = new RegExp(`^${placePrefix}(\\d+)-(.+)-\\d+$`)
const [ownBoot] = thisProcess.process_start?.split('/') ?? []

export type HandOver = ReturnType<typeof createHandOver>

export function createHandOver(options: HandOverOptions) {
  const { disconnect, leaseConnections, places, endPlace, isNamedElsewhere, graceMs } = options
  /** The sessions and connections over which clients of this process have called, and that are alive. */
  const connections = new Set<string>()
  const timers = new Set<NodeJS.Timeout>()
  let lastPlace = 0

  /** Looks again and again, until it is over, but for at most the grace time. */
  function lookUntil(isOver: () => boolean, atEnd: () => void): void {
    let looks = graceMs() / lookMs
    const timer = setInterval(() => {
      looks -= 1
      if (!isOver() && looks > 0) return
      clearInterval(timer)
      timers.delete(timer)
      atEnd()
    }, lookMs).unref()
    timers.add(timer)
  }

  /** Ends the connections that no process has named by then. */
  function endUnnamed(among: () => Iterable<string>, isOver: () => boolean): void {
    lookUntil(isOver, () => {
      for (const connection of among())
        if (!connections.has(connection) && !isNamedElsewhere(connection)) disconnect(connection)
    })
  }

  /** No process asks again for the call that has waited there. @returns true if no other place is kept for a relay */
  function endOrphans(): boolean {
    for (const place of places()) if (hasEnded(place)) endPlace(place)
    return places().length === 0
  }

  return {
    connections: connections as ReadonlySet<string>,
    /** A client has called over it. */
    add(connection: string | undefined): void {
      if (connection !== undefined) connections.add(connection)
    },
    remove: (connection: string): void => void connections.delete(connection),
    /**
     * The state of an earlier authority has been restored: leases whose connections are not named in time end, and so do places
     * whose relays have ended.
     */
    awaitAll(): void {
      endUnnamed(leaseConnections, () => false)
      if (!endOrphans()) lookUntil(endOrphans, () => {})
    },
    /** A relay is not heard of any more: its connections end with its process, unless it comes back and names them. */
    awaitRelay({ pid, process_start }: Member, its: readonly string[]): void {
      if (its.length > 0)
        endUnnamed(
          () => its,
          () => !isRunning(pid, process_start)
        )
    },
    /** Ends the leases of this process's own clients. */
    endOwn(): void {
      for (const connection of connections) disconnect(connection)
    },
    /** Under which a call waits; no other process of the tree gives such a name. */
    nextPlace(): string {
      lastPlace += 1
      return nameOfPlace(lastPlace)
    },
    close(): void {
      for (const timer of timers) clearInterval(timer)
    }
  }
}

/** No other process of the tree gives such a name. @param number of the call in this process */
function nameOfPlace(number: number): string {
  return `${placePrefix}${thisProcess.pid}-${thisProcess.process_start ?? thisProcess.started_at}-${number}`
}

/** True if its process certainly asks for nothing more. The processes of another machine cannot be seen from here. */
function hasEnded(place: string): boolean {
  const [, pid, start = ''] = placePattern.exec(place) ?? []
  return pid !== undefined && start.split('/')[0] === ownBoot && !isRunning(Number(pid), start)
}
