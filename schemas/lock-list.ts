// GET /locks: every file that is held or waited for, for people and scripts.
import { Path, pathText, Timestamp } from './common.ts'
import { Holder, PendingRequest } from './status.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** The querystring of GET /locks. */
export const LockListQuery = inputObject({
  limit: Type.Integer({ minimum: 0, maximum: 100_000, default: 10_000, description: 'Files listed at most.' }),
  after: Type.Optional(
    Type.String({ ...pathText, description: 'Lists the files behind this one: the last path of the part before.' })
  )
})

/** Answer of GET /locks. */
export const LockList = Type.Object(
  {
    files: Type.Array(
      Type.Object(
        {
          path: Path,
          holders: Type.Array(Holder, { description: 'Who holds it.' }),
          pending_requests: Type.Array(PendingRequest, { description: 'Who waits, in order.' })
        },
        { title: 'LockedFile', description: 'A file that is held or waited for.' }
      ),
      { description: 'Sorted by path.' }
    ),
    counts: Type.Object(
      {
        files: Type.Integer({ minimum: 0, description: 'Files that are held or waited for.' }),
        read: Type.Integer({ minimum: 0, description: 'Shared holds.' }),
        write: Type.Integer({ minimum: 0, description: 'Exclusive holds.' }),
        leases: Type.Integer({ minimum: 0, description: 'The holders that are leases.' }),
        waiting: Type.Integer({ minimum: 0, description: 'Requests that wait.' })
      },
      { title: 'LockCounts', description: 'Of all files, listed or not.' }
    ),
    truncated: Type.Boolean({
      description: 'True if there are more files behind these than ?limit= (default 10000) asks for: ?after= goes on.'
    }),
    timestamp: Timestamp
  },
  { title: 'LockList', description: 'All files that are held or waited for.' }
)
export type LockList = Static<typeof LockList>
