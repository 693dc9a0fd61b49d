// GET /locks: all held locks and waiting requests, for people and dashboards.
import fp from 'fastify-plugin'
import type { LockList } from '../schemas/locks.ts'
import { OperationError } from '../src/errors.ts'

const defaultLimit = 10_000
const maxLimit = 100_000

export default fp(
  async (app) => {
    app.get<{ Querystring: Record<string, string | string[]> }>('/locks', async ({ query }): Promise<LockList> => {
      return app.tree.listLocks(readLimit(query))
    })
  },
  { name: 'lock-list', dependencies: ['authority', 'errors', 'access'] }
)

function readLimit({ limit, ...others }: Readonly<Record<string, string | string[]>>): number {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new OperationError('INVALID_REQUEST', `unknown parameter "${unknown.slice(0, 100)}". Known: limit.`)
  if (limit === undefined) return defaultLimit
  if (typeof limit === 'string' && /^\d{1,9}$/.test(limit) && Number(limit) <= maxLimit) return Number(limit)
  const given = String(limit).slice(0, 20)
  const message = `limit must be a whole number from 0 to ${maxLimit}, not "${given}". Use GET /locks?limit=100.`
  throw new OperationError('INVALID_REQUEST', message)
}
