// Settings of queues and leases.
import { Type } from '../typebox.ts'
import { live } from './annotations.ts'

export const locks = Type.Object(
  {
    operation_ttl_seconds: Type.Number({
      minimum: 0.05,
      default: 30,
      description: 'An operation that holds its lock longer loses the lock, and its change is refused.'
    }),
    max_waiters_per_path: Type.Integer({
      minimum: 1,
      default: 1000,
      description: 'Calls that wait for one path at once.'
    }),
    max_waiters_per_agent: Type.Integer({
      minimum: 1,
      default: 1000,
      description: 'Calls of one agent that wait at once.'
    }),
    max_leases_per_agent: Type.Integer({
      minimum: 1,
      default: 10000,
      description: 'Leases that one agent holds at once.'
    }),
    max_leases: Type.Integer({
      minimum: 1,
      default: 200000,
      description: 'Leases that all agents together hold at once.'
    }),
    max_files_per_call: Type.Integer({
      ...live,
      minimum: 1,
      maximum: 10000,
      default: 1000,
      description: 'Files in one call of a lock operation.'
    }),
    enforcement: Type.String({
      enum: ['holder', 'required', 'off'],
      default: 'holder',
      description:
        'What a lease does to changes by others: "holder" makes them wait for its end; "required" also refuses a change without an exclusive lease of its agent; "off" lets all changes pass.'
    }),
    lease_ttl_seconds: Type.Number({
      ...live,
      minimum: 0.05,
      default: 300,
      description: 'How long a lease lasts without a call of its holder on the file, if the call has no ttl_seconds.'
    }),
    max_lease_ttl_seconds: Type.Number({
      ...live,
      minimum: 0.05,
      default: 3600,
      description: 'Longest ttl_seconds that a call can ask for.'
    }),
    ticket_grace_seconds: Type.Number({
      ...live,
      minimum: 0,
      default: 60,
      description: 'How long the places of a lock_wait that was cut short are kept for its ticket; 0 gives no tickets.'
    }),
    long_wait_seconds: Type.Number({
      ...live,
      minimum: 0.05,
      default: 60,
      description:
        'A wait for a file that takes longer needs attention, as the board says at its top; likewise a holder that has not called for twice as long while another waits.'
    }),
    release_on_disconnect: Type.Boolean({
      default: true,
      description:
        'Whether a lease ends with the 2025-era MCP session or the stdio connection over which it was last asked for.'
    }),
    native_wait_seconds: Type.Number({
      minimum: 0,
      maximum: 60,
      default: 5,
      description:
        'How long an edit by a native tool of a harness (native_hook) waits for its file before it is refused.'
    }),
    native_edit_seconds: Type.Number({
      minimum: 0.05,
      maximum: 60,
      default: 5,
      description:
        'How long a file stays locked for a native tool whose end the harness does not report; changes by others wait.'
    }),
    reconnect_grace_seconds: Type.Number({
      minimum: 0,
      maximum: 3600,
      default: 5,
      description:
        'After another process has begun to serve the tree: how long leases wait for their session or connection, and places in line for the call that waited in them.'
    }),
    remember_lost_leases_seconds: Type.Number({
      minimum: 0,
      default: 3600,
      description:
        'How long an agent that has lost a lease cannot write as if it held it: its changes of the file are refused until it has read, leased or released the file.'
    })
  },
  { additionalProperties: false, default: {}, description: 'Queues and leases.' }
)
