// GET /health: the state of the process for a monitor (PRD 11.2).
import { Timestamp, treeRole } from './common.ts'
import { Type, type Static } from './typebox.ts'

const milliseconds = (description: string) => Type.Number({ minimum: 0, description })

export const Health = Type.Object(
  {
    status: Type.String({
      enum: ['healthy', 'degraded'],
      description: 'The process answers; degraded if a part of it does not work as it should while the rest goes on.'
    }),
    degraded: Type.Array(
      Type.Object({
        part: Type.String({ description: 'Such as `watcher`.' }),
        message: Type.String({ description: 'What is missing, what that means, and what to do.' }),
        since: Timestamp
      }),
      { description: 'The parts that do not work as they should.' }
    ),
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
    bytes_in_flight: Type.Object(
      {
        limit: Type.Integer({ minimum: 0, description: 'Of them all: daemon.max_pending_request_bytes.' }),
        held: Type.Integer({ minimum: 0, description: 'Requests, and the work of calls on large files.' }),
        work: Type.Integer({ minimum: 0, description: 'Files that calls work on, with the texts made of them.' }),
        work_peak: Type.Integer({ minimum: 0, description: 'The most that work has been since the start.' }),
        unsent: Type.Integer({ minimum: 0, description: 'Answers that clients have not taken yet.' }),
        waiting: Type.Integer({ minimum: 0, description: 'Calls that wait for room to work in.' })
      },
      { title: 'BytesInFlight', description: 'The bytes that this process holds for its clients.' }
    ),
    memory_bytes: Type.Integer({ minimum: 0, description: 'Resident memory.' }),
    watcher: Type.Object(
      {
        state: Type.String({
          enum: ['watching', 'degraded', 'off'],
          description:
            'Whether changes by other programs are noticed when they happen: degraded if not all folders can be watched, off if it is switched off or another process runs the engine of the tree.'
        }),
        watched_directories: Type.Integer({ minimum: 0, description: 'Folders that the system watches.' }),
        tracked_files: Type.Integer({ minimum: 0, description: 'Files in use, whose versions are remembered.' })
      },
      { title: 'WatcherHealth', description: 'The watcher.' }
    ),
    ...treeRole,
    hosts: Type.Optional(
      Type.Object(
        {
          epoch: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
            description: 'Counts the elections of the tree, upwards; null if this process is not the authority.'
          }),
          authority: Type.Union([Type.String(), Type.Null()], {
            description: 'Host and port of the authority; null while they are not known.'
          }),
          lease_seconds: Type.Number({
            minimum: 0,
            description:
              'Until this process refuses changes unless etcd renews its lease; 0 if it is not the authority.'
          }),
          etcd: Type.Array(
            Type.Object({
              endpoint: Type.String({ description: 'Address.' }),
              state: Type.String({
                enum: ['answers', 'fails', 'unknown'],
                description: 'What the last request of this process to it came to; unknown if there was none.'
              })
            }),
            {
              description:
                'The endpoints of tree.etcd_endpoints. A relay asks them only when it has lost the authority.'
            }
          )
        },
        { title: 'Hosts', description: 'Present if several hosts may serve the tree.' }
      )
    ),
    mcp_sessions: Type.Integer({ minimum: 0, description: 'Sessions of 2025-era MCP clients.' })
  },
  { title: 'Health', description: 'State of the process.' }
)
export type Health = Static<typeof Health>
