// GET /locks: everything held and waited for, for people and dashboards.
import fp from 'fastify-plugin'
import type { LockList } from '../schemas/locks.ts'
import { OperationError } from '../src/errors.ts'
import { listLocks } from '../src/operations/lock-entries.ts'

const defaultLimit = 10_000

export default fp(
  async (app) => {
    app.get<{ Querystring: { limit?: string } }>('/locks', async ({ query }): Promise<LockList> => {
      return listLocks(app.locks, readLimit(query.limit))
    })
  },
  { name: 'lock-list', dependencies: ['locks', 'errors', 'access'] }
)

function readLimit(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new OperationError(
    'INVALID_REQUEST',
    `limit must be a whole number, not "${text.slice(0, 20)}". Use GET /locks?limit=100.`
  )
}
