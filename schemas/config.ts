// Every setting with its default, bounds and meaning: the one place they are written.
import { Type, type Static } from './typebox.ts'

export const Config = Type.Object(
  {
    daemon: Type.Object(
      {
        host: Type.String({
          minLength: 1,
          default: '127.0.0.1',
          description: 'Address to bind. Anything but a loopback address needs daemon.token.'
        }),
        port: Type.Integer({
          minimum: 1,
          maximum: 65535,
          default: 8720,
          description: 'HTTP port. While it is taken and was not asked for explicitly, the next free one up to 8819.'
        }),
        transport: Type.String({
          enum: ['http', 'stdio', 'dual'],
          default: 'http',
          description:
            '"http" listens; "stdio" answers JSON-RPC and MCP on standard input and output; "dual" does both in one process.'
        }),
        log_level: Type.String({
          enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
          default: 'info',
          description: "Least level that is logged, by pino's names."
        }),
        token: Type.String({
          default: '',
          description:
            'Bearer token that every request must carry, but for /docs and /openapi.json, which show the public contract; "" asks for none.'
        }),
        allowed_hosts: Type.Array(Type.String({ minLength: 1 }), {
          default: [],
          description:
            'Host header values allowed besides daemon.host and the loopback names with the own port, such as "files.example:8720".'
        }),
        header_timeout_seconds: Type.Number({ minimum: 0.1, default: 5, description: 'Time to receive the headers.' }),
        request_timeout_seconds: Type.Number({
          minimum: 0.1,
          default: 30,
          description: 'Time to receive a whole request.'
        }),
        authority_timeout_seconds: Type.Number({
          minimum: 0.1,
          default: 10,
          description:
            'Where several processes serve one tree, one of them runs the engine. How long a call waits for it while it starts, or while another takes over.'
        }),
        stop_timeout_seconds: Type.Number({
          minimum: 0,
          default: 1.5,
          description: 'Time that running operations get to finish when the server stops.'
        }),
        max_stdio_calls: Type.Integer({
          minimum: 1,
          default: 100,
          description:
            'Calls under way at once on standard input, and messages in one batch. Beyond it input is not read until one has ended.'
        }),
        stdio_drain_seconds: Type.Number({
          minimum: 0,
          default: 30,
          description: 'When standard input has ended, calls under way get this long to be answered.'
        }),
        max_mcp_sessions: Type.Integer({
          minimum: 1,
          default: 1000,
          description:
            'Sessions of 2025-era MCP clients kept at once. Where there are more, the one idle for longest ends, unless leases would end with it.'
        }),
        mcp_session_idle_seconds: Type.Number({
          minimum: 1,
          default: 3600,
          description: 'A 2025-era session without a request or an open stream for this long ends.'
        }),
        mcp_wait_seconds: Type.Number({
          minimum: 0,
          default: 55,
          description:
            'Longest wait for a lock over MCP when the client asked for no progress: clients give up at 60 s.'
        })
      },
      { additionalProperties: false, default: {}, description: 'The process, and who may call it.' }
    ),
    crud: Type.Object(
      {
        base_directories: Type.Array(Type.String({ minLength: 1 }), {
          default: [],
          description:
            'The roots: absolute paths of directories. Only files below them are reachable; empty refuses everything.'
        }),
        default_timeout: Type.Number({
          minimum: 0,
          default: 30,
          description:
            'Seconds to wait for a lock when a call does not say; reads wait up to crud.max_timeout, and read_file and edit_file at most 30.'
        }),
        max_timeout: Type.Number({
          minimum: 0,
          default: 300,
          description: 'Longest wait for a lock that a call can ask for, in seconds.'
        }),
        default_encoding: Type.String({
          minLength: 1,
          default: 'utf-8',
          description: 'Encoding when a call does not say.'
        }),
        diff_context_lines: Type.Integer({
          minimum: 0,
          maximum: 100,
          default: 3,
          description: 'Lines of context around a change.'
        }),
        diff_timeout_ms: Type.Integer({
          minimum: 1,
          default: 2000,
          description: 'Time a diff may take before it becomes a coarse one.'
        }),
        diff_max_bytes: Type.Integer({
          minimum: 1024,
          default: 1048576,
          description: 'Largest diff in an answer; beyond it the answer says to read the file again.'
        }),
        max_file_size_bytes: Type.Integer({
          minimum: 1,
          maximum: 104857600,
          default: 10485760,
          description: 'Largest file that is read or written.'
        }),
        base_cache_bytes: Type.Integer({
          minimum: 0,
          default: 268435456,
          description: 'Memory for the bytes behind the hashes handed out.'
        }),
        durability: Type.String({
          enum: ['full', 'rename'],
          default: 'full',
          description: '"full" survives a power loss (fsync); "rename" only a crash of the process.'
        }),
        hardlinks: Type.String({
          enum: ['break', 'refuse'],
          default: 'break',
          description:
            'A hard-linked file is written by rename, which leaves the old bytes under its other names: allow or refuse.'
        }),
        protected: Type.Array(Type.String({ minLength: 1 }), {
          default: ['**/.git', '**/.git/**'],
          description: 'Globs, relative to a root, of paths that are never written.'
        }),
        sync_io_max_bytes: Type.Integer({
          minimum: 0,
          default: 262144,
          description:
            'Files up to this size on a local file system are read without a trip through the thread pool; 0 never.'
        }),
        max_list_entries: Type.Integer({
          minimum: 1,
          default: 1000000,
          description: 'Directory entries that one async_list looks at before it gives up.'
        }),
        max_batch_answer_bytes: Type.Integer({
          minimum: 1,
          default: 41943040,
          description:
            'Content or diffs in the answer of one batch; beyond it further files are not read, and contention comes without diff.'
        }),
        max_batch_files: Type.Integer({
          minimum: 1,
          maximum: 10000,
          default: 1000,
          description: 'Files in one batch call.'
        })
      },
      { additionalProperties: false, default: {}, description: 'Files and operations.' }
    ),
    locks: Type.Object(
      {
        operation_ttl_seconds: Type.Number({
          minimum: 0.05,
          default: 30,
          description: 'An operation that holds its lock longer loses it, and its change is refused.'
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
          minimum: 1,
          maximum: 10000,
          default: 1000,
          description: 'Files in one call of a lock operation.'
        }),
        enforcement: Type.String({
          enum: ['holder', 'required', 'off'],
          default: 'holder',
          description:
            'What a lease does to the changes of others: "holder" makes them wait for its end; "required" refuses, besides, whoever changes a file without an exclusive lease of his own; "off" lets everybody pass.'
        }),
        lease_ttl_seconds: Type.Number({
          minimum: 0.05,
          default: 300,
          description: 'How long a lease lasts without a call of its holder on the file, when a call does not say.'
        }),
        max_lease_ttl_seconds: Type.Number({
          minimum: 0.05,
          default: 3600,
          description: 'Longest such time that a call can ask for.'
        }),
        ticket_grace_seconds: Type.Number({
          minimum: 0,
          default: 60,
          description: 'How long the places of a lock_wait that was cut are kept for its ticket; 0 gives no tickets.'
        }),
        release_on_disconnect: Type.Boolean({
          default: true,
          description:
            'Whether a lease ends with the 2025-era MCP session or the stdio connection over which it was taken.'
        }),
        remember_lost_leases_seconds: Type.Number({
          minimum: 0,
          default: 3600,
          description:
            'How long an agent that has lost a lease is kept from writing on as if it had it: its changes of the file are refused until it has read the file, or has leased or released it.'
        })
      },
      { additionalProperties: false, default: {}, description: 'Queues and leases.' }
    )
  },
  { additionalProperties: false, description: 'Configuration of async-crud-mcp.' }
)
export type Config = Static<typeof Config>
