// Settings of the process: where it listens, who may call it, what it logs.
import { Type } from '../typebox.ts'
import { aliases, anyCase, live, path, secret } from './annotations.ts'

export const daemon = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: 'Whether the service of this user runs the server. A server started by hand runs in either case.'
    }),
    host: Type.String({
      minLength: 1,
      default: '127.0.0.1',
      description: 'Address to bind. Any address but a loopback one needs daemon.token.'
    }),
    port: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1024,
      maximum: 65535,
      default: 8720,
      description:
        'HTTP port. If it is taken, a port from a flag or the environment is an error; for one from the file or the default, the next free one up to 8819 is used; null is one from 8720 to 8819 by the name of the user.'
    }),
    transport: Type.String({
      enum: ['http', 'stdio', 'dual'],
      ...aliases({ sse: 'http' }),
      default: 'http',
      description:
        'How clients reach the server: "http" (also "sse") listens; "stdio" answers JSON-RPC and MCP on standard input and output; "dual" does both in one process.'
    }),
    log_level: Type.String({
      enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      ...anyCase,
      ...live,
      default: 'info',
      description: "Lowest level that is logged, by pino's names in upper or lower case."
    }),
    log_file: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: 1,
      ...path('auto'),
      default: null,
      description:
        'Where the log goes: null is standard error, "auto" the file async-crud-mcp.log in the log folder of this user, anything else the path of a file outside the roots.'
    }),
    log_max_megabytes: Type.Number({
      minimum: 0.001,
      maximum: 1024,
      default: 10,
      description: 'A log file that would grow beyond this is set aside, as it is at the end of a day, and compressed.'
    }),
    log_keep_days: Type.Integer({
      minimum: 1,
      maximum: 3650,
      default: 7,
      description: 'How long log files that were set aside are kept.'
    }),
    token: Type.String({
      ...secret,
      ...live,
      default: '',
      description:
        'Bearer token that every request must carry, except for /openapi.json and the pages /docs and /board, which are the same for everyone; "" asks for none.'
    }),
    allowed_hosts: Type.Array(Type.String({ minLength: 1 }), {
      ...live,
      default: [],
      examples: [['files.example:8720']],
      description:
        'Host header values allowed besides daemon.host and the loopback names with the port of the server, such as "files.example:8720".'
    }),
    allowed_origins: Type.Array(Type.String({ minLength: 1 }), {
      ...live,
      default: [],
      examples: [['http://localhost:6274']],
      description:
        'Origins of web pages, besides those of the server itself, that may call it and read its answers, such as "http://localhost:6274". A page of such an origin may do all that a program of yours may (see docs/security.md).'
    }),
    same_user_only: Type.Boolean({
      default: true,
      description:
        'Whether connections to a loopback address are accepted only from root and the user of the server. Works on Linux; elsewhere it has no effect.'
    }),
    header_timeout_seconds: Type.Number({
      minimum: 0.1,
      maximum: 3600,
      default: 5,
      description: 'Time to receive the headers; a connection that takes longer is answered with 408 and closed.'
    }),
    request_timeout_seconds: Type.Number({
      minimum: 0.1,
      maximum: 3600,
      default: 30,
      description:
        'Time to receive a whole request; one that takes longer is answered with 408, and its connection closed.'
    }),
    max_pending_request_bytes: Type.Integer({
      minimum: 1_048_576,
      maximum: 1_099_511_627_776,
      default: 268_435_456,
      description:
        'Bytes held at once for clients, over all connections: requests that are arriving or not yet answered, files of more than 256 KiB that calls work on with the texts made of them, answers not yet taken. Beyond it the request that has been arriving for longest is refused with OVERLOADED, otherwise the new one. Files and texts take at most half of it: further calls wait. Two of the largest requests always fit, and one call always goes on.'
    }),
    max_work_wait_seconds: Type.Number({
      minimum: 0,
      maximum: 3600,
      default: 20,
      description:
        'How long a call on a large file waits for its share of daemon.max_pending_request_bytes; then it is refused with OVERLOADED. While calls wait, a connection whose client has not taken its answers for three times as long is closed.'
    }),
    authority_timeout_seconds: Type.Number({
      minimum: 0.1,
      maximum: 3600,
      default: 10,
      description:
        'If several processes serve one tree, one of them runs the engine. How long a call waits for it while it starts, or while another takes over; and how long a host of several that starts asks an etcd that does not answer, before it ends.'
    }),
    stop_timeout_seconds: Type.Number({
      minimum: 0,
      maximum: 600,
      default: 1.5,
      description: 'Time for running operations to finish when the server stops.'
    }),
    idle_collect_seconds: Type.Number({
      minimum: 0,
      maximum: 86_400,
      default: 2,
      description:
        'After a start, and after each time of work, the server gives unused memory back once no call has begun or ended for this long. It takes some hundredths of a second, more after much work. 0: never.'
    }),
    max_stdio_calls: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 100,
      description:
        'Calls under way at once on standard input, and messages in one batch. Beyond it, input is not read until a call has ended.'
    }),
    stdio_drain_seconds: Type.Number({
      minimum: 0,
      maximum: 3600,
      default: 30,
      description: 'Time for calls under way to be answered after standard input has ended.'
    }),
    max_mcp_sessions: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1000,
      description:
        'Sessions of 2025-era MCP clients kept at once. If there are more, the one idle for longest ends, unless leases would end with it.'
    }),
    mcp_session_idle_seconds: Type.Number({
      minimum: 1,
      maximum: 604_800,
      default: 3600,
      description: 'A 2025-era session without a request or an open stream for this long ends.'
    }),
    mcp_session_away_seconds: Type.Number({
      minimum: 0.1,
      maximum: 604_800,
      default: 60,
      description:
        'A client of a 2025-era session that has closed its stream, and neither opens it again nor sends anything for this long, counts as gone: the leases of the session end. If no stream was ever opened, they end by their own time.'
    }),
    mcp_wait_seconds: Type.Number({
      minimum: 0,
      maximum: 3600,
      default: 55,
      description: 'Longest wait for a lock over MCP if the client asked for no progress: clients give up at 60 s.'
    }),
    config_poll_seconds: Type.Number({
      minimum: 0.05,
      maximum: 3600,
      ...live,
      default: 3,
      description: 'How often a running server checks its configuration file for changes.'
    }),
    config_debounce_seconds: Type.Number({
      minimum: 0,
      maximum: 60,
      ...live,
      default: 1,
      description:
        'A changed configuration file is read after it has stayed the same for this long, so not while it is being written.'
    }),
    session_poll_seconds: Type.Number({
      minimum: 0.5,
      maximum: 3600,
      default: 3,
      description:
        'How often the service checks whether the user is logged in; without effect, since service managers do that.'
    }),
    wait_for_session: Type.Boolean({
      default: true,
      description:
        'Whether the service starts the server only when the user is logged in; without effect, a service of a user always does so.'
    }),
    health_check_interval: Type.Number({
      minimum: 1,
      maximum: 3600,
      default: 30,
      description:
        'Seconds between two health checks of the service; without effect, since service managers watch the process.'
    })
  },
  { additionalProperties: false, default: {}, description: 'The process, and who may call it.' }
)
