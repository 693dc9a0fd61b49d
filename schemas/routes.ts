// The plain HTTP routes beside the operations: what each takes in its querystring, and what it answers.
import { Activity, ActivityQuery } from './activity.ts'
import { EventsQuery, StreamedEvent } from './events.ts'
import { FolderQuery } from './file-routes.ts'
import { Health } from './health.ts'
import { LockList, LockListQuery } from './lock-list.ts'
import { Type } from './typebox.ts'

const Metrics = Type.String({ description: 'Samples in the text format of Prometheus, or of OpenMetrics.' })
const Page = Type.String({ description: 'A page for a browser.' })

/** Schemas of Fastify's routes. A route without a querystring takes any, and ignores it. */
export const routes = {
  '/health': { response: { 200: Health } },
  '/locks': { querystring: LockListQuery, response: { 200: LockList } },
  '/activity': { querystring: ActivityQuery, response: { 200: Activity } },
  '/files/*': { querystring: FolderQuery },
  '/events': {
    querystring: EventsQuery,
    response: { 200: { content: { 'text/event-stream': { schema: StreamedEvent } } } }
  },
  '/metrics': {
    response: {
      200: {
        content: { 'text/plain': { schema: Metrics }, 'application/openmetrics-text': { schema: Metrics } }
      }
    }
  },
  '/board': { response: { 200: { content: { 'text/html': { schema: Page } } } } },
  '/docs': { response: { 200: { content: { 'text/html': { schema: Page } } } } }
}
