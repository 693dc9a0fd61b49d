// Settings of files and operations.
import { Type } from '../typebox.ts'
import { live, path } from './annotations.ts'

export const crud = Type.Object(
  {
    base_directories: Type.Array(Type.String({ minLength: 1 }), {
      ...path(),
      default: [],
      description:
        'The roots: absolute paths of directories. Only files below them are reachable; empty refuses everything. If nothing sets them, a server started by hand serves the folder it is called from.'
    }),
    default_timeout: Type.Number({
      ...live,
      minimum: 0,
      default: 30,
      description:
        'Seconds to wait for a lock if the call has no timeout; reads wait up to crud.max_timeout, and read_file and edit_file at most 30.'
    }),
    max_timeout: Type.Number({
      ...live,
      minimum: 0,
      default: 300,
      description: 'Longest wait for a lock that a call can ask for, in seconds.'
    }),
    default_encoding: Type.String({
      ...live,
      minLength: 1,
      default: 'utf-8',
      examples: ['windows-1252'],
      description: 'Encoding if the call has none.'
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
      description: 'Time that a diff may take before a coarse one replaces it.'
    }),
    diff_max_bytes: Type.Integer({
      minimum: 1024,
      default: 1048576,
      description: 'Largest diff in an answer; if a diff is larger, the answer says to read the file again.'
    }),
    max_file_size_bytes: Type.Integer({
      minimum: 1,
      maximum: 104857600,
      default: 10485760,
      description: 'Largest file that is read whole or written; of a larger one, parts can be read.'
    }),
    base_cache_bytes: Type.Integer({
      minimum: 0,
      default: 268435456,
      description:
        'Memory for the bytes behind the hashes handed out; a sixteenth of it more each for their texts and for what refused changes would have made.'
    }),
    max_history_files: Type.Integer({
      minimum: 1,
      maximum: 1000000,
      default: 10000,
      description: 'Files whose versions are remembered; the least recently used are dropped first.'
    }),
    max_file_versions: Type.Integer({
      minimum: 1,
      maximum: 10000,
      default: 100,
      description:
        'Versions remembered of one file; ten times as many of a file in a Git repository while it differs from HEAD.'
    }),
    max_history_age_days: Type.Number({
      minimum: 0,
      maximum: 3650,
      default: 90,
      description:
        'Age of the versions that are remembered; the newest of a file that is there stays at any age. 0 sets no bound.'
    }),
    max_remembered_reads: Type.Integer({
      minimum: 0,
      default: 100000,
      description:
        'Files read by agents, over all agents, whose changes by others are reported to the reader; 0 reports none.'
    }),
    max_history_bytes: Type.Integer({
      minimum: 1048576,
      default: 33554432,
      description:
        'Memory for the remembered versions of all files, without their bytes; those of the least recently used files are dropped first.'
    }),
    max_remembered_bytes: Type.Integer({
      minimum: 1048576,
      default: 33554432,
      description:
        'Memory for what agents have read (crud.max_remembered_reads). Beyond it the agent that takes most of it is no longer told of changes of the files that it read longest ago.'
    }),
    max_seen_agents: Type.Integer({
      minimum: 1,
      maximum: 100000,
      default: 2000,
      description: 'Agents whose last call GET /activity shows; those not seen for longest are dropped first.'
    }),
    max_hot_files: Type.Integer({
      minimum: 1,
      maximum: 1000000,
      default: 20000,
      description:
        'Files of each minute at which agents met, for each agent and over all minutes of the last day, that GET /activity counts; the oldest minutes are dropped first.'
    }),
    receipt_seconds: Type.Number({
      minimum: 0,
      maximum: 86400,
      default: 600,
      description:
        'How long the answer to a change with a request_id is kept: a repeat within that time gets it, and changes nothing.'
    }),
    max_agent_receipt_bytes: Type.Integer({
      minimum: 4096,
      default: 1048576,
      description: 'Memory for such answers of one agent, some 1,500; the oldest are forgotten first.'
    }),
    max_receipt_bytes: Type.Integer({
      minimum: 4096,
      default: 16777216,
      description:
        'Memory for such answers of all agents. Beyond it the agent that takes most of it loses its oldest ones.'
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
        'Files up to this size on a local file system are read without the thread pool; 0 reads none that way.'
    }),
    max_list_entries: Type.Integer({
      ...live,
      minimum: 1,
      default: 1000000,
      description: 'Directory entries that one async_list examines before it fails.'
    }),
    max_batch_answer_bytes: Type.Integer({
      ...live,
      minimum: 1,
      default: 41943040,
      description:
        'Content or diffs in the answer of one batch; beyond it, further files are not read, and contention has no diff.'
    }),
    max_batch_files: Type.Integer({
      ...live,
      minimum: 1,
      maximum: 10000,
      default: 1000,
      description: 'Files in one batch call.'
    }),
    max_transaction_changes: Type.Integer({
      ...live,
      minimum: 1,
      maximum: 10000,
      default: 1000,
      description: 'Changes in one transaction.'
    }),
    max_transaction_files: Type.Integer({
      ...live,
      minimum: 1,
      maximum: 5000,
      default: 500,
      description: 'Files that one transaction, or one undo, may change.'
    }),
    max_transaction_bytes: Type.Integer({
      ...live,
      minimum: 1024,
      default: 268435456,
      description: 'Bytes that one transaction, or one undo, may write.'
    }),
    max_layer_files: Type.Integer({
      minimum: 1,
      maximum: 100000,
      default: 10000,
      description: 'Files that one isolated command may change, ignored ones apart.'
    }),
    max_layer_bytes: Type.Integer({
      minimum: 1024,
      default: 268435456,
      description: 'Bytes that one isolated command may write, ignored files apart.'
    })
  },
  { additionalProperties: false, default: {}, description: 'Files and operations.' }
)
