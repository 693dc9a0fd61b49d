// GET /health: what a monitor learns of the process (PRD 11.2).
import { treeRole } from './common.ts'
import { Type, type Static } from './typebox.ts'

const milliseconds = (description: string) => Type.Number({ minimum: 0, description })

export const Health = Type.Object(
  {
    status: Type.Literal('healthy', { description: 'The process answers.' }),
    version: Type.String({ description: 'Of the server.' }),
    uptime_seconds: Type.Number({ minimum: 0, description: 'Since its start.' }),
    port_listening: Type.Boolean({ description: 'True once the server accepts connections.' }),
    event_loop_delay_ms: Type.Object(
      {
        p50: milliseconds('Half of all turns were late by no more than this.'),
        p99: milliseconds('99 of 100 turns were late by no more than this.')
      },
      { title: 'EventLoopDelay', description: 'How late the event loop is, in milliseconds.' }
    ),
    memory_bytes: Type.Integer({ minimum: 0, description: 'Resident memory.' }),
    ...treeRole,
    mcp_sessions: Type.Integer({ minimum: 0, description: 'Sessions of 2025-era MCP clients.' })
  },
  { title: 'Health', description: 'How the process is.' }
)
export type Health = Static<typeof Health>
