// async_status (PRD 3.5).
import { contract } from '../../schemas/contract.ts'
import type { StatusOutput } from '../../schemas/status.ts'
import type { Static } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import { toModification } from '../engine/versions/modification.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { glanceAt } from './change/file-version.ts'
import { toOwnHolder, toPendingRequest } from '../engine/leases/lock-listing.ts'
import { uptimeSeconds } from '../support/uptime.ts'
import { timestamp } from '../support/timestamp.ts'

type Status = Static<typeof StatusOutput>

export const asyncStatus = defineOperation({
  name: 'async_status',
  title: 'Show status',
  description:
    'Without path: the server, its roots, locks and queues. With path: whether the file exists, its hash right now, who holds its lock and who waits for it, in order.',
  ...contract.async_status,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors],
  handle: ({ path }, context) => (path === null ? Promise.resolve(globalStatus(context)) : fileStatus(path, context))
})

function globalStatus({ locks, history, files, server }: OperationContext): Status {
  const { shared, exclusive, leases, waiting } = locks.summary()
  return {
    status: 'ok',
    server: {
      version: server.version,
      uptime_seconds: uptimeSeconds(),
      transport: server.transport,
      port: server.port ?? null,
      persistence: server.persistence
    },
    tracked_files: history.trackedFiles,
    active_locks: { read: shared, write: exclusive, leases },
    queue_depth: waiting,
    base_directories: files.roots.map(({ real }) => real),
    timestamp: timestamp()
  }
}

async function fileStatus(path: string, context: OperationContext): Promise<Status> {
  const { key, path: canonicalPath } = context.files.resolve(path, 'target')
  const { holders, waiters, depth } = context.locks.status(key)
  const { exists, hash } = await look(path, context)
  const last = context.history.last(canonicalPath)
  const isWriting = holders.some(({ mode }) => mode === 'exclusive')
  return {
    status: 'ok',
    path,
    exists,
    hash,
    last_change: last === undefined || last.isFirstSight ? null : toModification(last),
    lock_state: isWriting ? 'write_locked' : holders.length > 0 ? 'read_locked' : 'unlocked',
    queue_depth: depth,
    active_readers: holders.filter(({ mode }) => mode === 'shared').length,
    holders: holders.map((holder) => toOwnHolder(holder, context.caller.agentId)),
    pending_requests: waiters.map(toPendingRequest),
    timestamp: timestamp()
  }
}

/** Whether the file exists, and its hash if it can be read. Takes no lock: a status must not wait. */
async function look(path: string, context: OperationContext): Promise<{ exists: boolean; hash: string | null }> {
  const place = context.files.open(path, 'target')
  try {
    if (place.stat?.isFile() !== true) return { exists: place.stat !== undefined, hash: null }
    return { exists: true, hash: (await glanceAt(context, place, path)).hash }
  } catch (error) {
    if (error instanceof OperationError) return { exists: error.code !== 'FILE_NOT_FOUND', hash: null }
    throw error
  } finally {
    place.close()
  }
}
