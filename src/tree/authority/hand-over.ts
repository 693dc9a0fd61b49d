// What a hand-over needs from each process: which connections are its own, and under which names its calls wait.
import { placePrefix } from '../../engine/leases/tickets.ts'
import { thisProcess } from '../state/state-file.ts'

interface HandOverOptions {
  readonly disconnect: (connection: string) => void
  /** The sessions and connections with which leases end. */
  readonly leaseConnections: () => Iterable<string>
  /** True if another process has named it, as one of its own that is alive. */
  readonly isNamedElsewhere: (connection: string) => boolean
  readonly graceMs: () => number
}

/** A timer that comes this late was held up by a suspended process: the news of that time has not been read yet. */
const lateMs = 200

export type HandOver = ReturnType<typeof createHandOver>

export function createHandOver({ disconnect, leaseConnections, isNamedElsewhere, graceMs }: HandOverOptions) {
  /** The sessions and connections over which clients of this process have called, and that are alive. */
  const connections = new Set<string>()
  let reconnecting: NodeJS.Timeout | undefined
  let lastPlace = 0

  /** Restored leases wait for their connections, which no process has named since: their processes have gone. */
  function endUnnamed(): void {
    for (const connection of leaseConnections())
      if (!connections.has(connection) && !isNamedElsewhere(connection)) disconnect(connection)
  }

  function awaitConnections(): void {
    const waitMs = graceMs()
    const dueAt = performance.now() + waitMs
    clearTimeout(reconnecting)
    reconnecting = setTimeout(
      () => (performance.now() - dueAt > lateMs ? awaitConnections() : endUnnamed()),
      waitMs
    ).unref()
  }

  return {
    connections: connections as ReadonlySet<string>,
    /** A client has called over it. */
    add(connection: string | undefined): void {
      if (connection !== undefined) connections.add(connection)
    },
    remove: (connection: string): void => void connections.delete(connection),
    /** The state of an earlier authority has been restored: leases whose connections are not named in time end. */
    awaitConnections,
    /** Ends the leases of this process's own clients. */
    endOwn(): void {
      for (const connection of connections) disconnect(connection)
    },
    /** Under which a call waits; no other process of the tree gives such a name. */
    nextPlace(): string {
      lastPlace += 1
      return `${placePrefix}${thisProcess.pid}-${thisProcess.process_start ?? thisProcess.started_at}-${lastPlace}`
    },
    close: (): void => clearTimeout(reconnecting)
  }
}
