// What a model is told about each tool and its parameters. It pays for every word in every conversation: the schemas say the rest to people.

export interface ToolWords {
  readonly description: string
  /** Those that need other words here than `parameterWords` has. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Accepted and documented, but not shown: what a model seldom needs here. `name[]`: the items of a list. */
  readonly unlisted?: readonly string[]
  /** Those that MCP alone has. */
  readonly defaults?: Readonly<Record<string, unknown>>
}

/** By name, wherever a parameter is called that. Those that are clear by name, type and the tool's description have none, nor have those that a tool explains which a model meets first. */
export const parameterWords: Readonly<Record<string, string>> = {
  path: 'Absolute, or relative to the first root',
  timeout: 'Seconds to wait; 0: not at all',
  offset: 'First line, 0-based',
  limit: 'At most',
  line_numbers: 'As cat -n',
  byte_offset: 'In place of lines, if they are long',
  encoding: 'Default utf-8',
  patches: 'By text, or by lines of the version expected; one kind a call',
  unified_diff: 'Of this file, with context',
  old_string: 'Exactly as in the file; must occur once',
  end_line: 'Inclusive',
  new_content: '"" deletes',
  expected_lines: 'As you know them; if others are there, nothing changes',
  separator: 'Put before content, unless the file is empty',
  pattern: 'Glob; with / or ** it goes as deep as it says',
  include_hashes: 'Of files read or written here and unchanged since',
  ignore: 'Leave out what .gitignore excludes',
  cursor: 'next_cursor of the last answer',
  by_agent: '"external": from outside the server',
  consistent: 'As of one moment, named by snapshot',
  snapshot: 'As the file was then',
  atomic: 'All or none',
  to_hash: 'Default: the current version',
  mode: 'shared: others can hold shared leases too',
  ttl_seconds: 'From your last call on the file; default 300',
  note: 'What you are doing; shown to those who wait',
  ticket: 'To wait on in the places kept'
}

/** Accepted, and not shown: without effect, for HTTP, or for programs that repeat calls: a model does not see that an answer is lost. */
export const unlistedParameters: ReadonlySet<string> = new Set([
  'poll_interval_ms',
  'include_modified',
  'request_id',
  'change_set'
])

const agentId = 'Your name'
const onContention = 'merge: make a change that touches no line others changed'

/** A tool without words here has the description of its operation. */
export const toolWords: Readonly<Record<string, ToolWords>> = {
  async_read: {
    description:
      'Read a text file, or a part, with the hash of the whole. Keep the hash: changes need it. With known_hash you get only what has changed since.',
    parameters: { agent_id: agentId }
  },
  async_write: {
    description: 'Create a text file. Fails if it exists: change it with async_update.'
  },
  async_update: {
    description:
      'Change a file that you have read, by patches, a unified diff (all or none) or its whole content. expected_hash is the hash of the version you read. If the file has changed since, nothing is written and the answer is "contention" with the diff: adjust your change by it and send it with expected_hash = current_hash, without reading again.',
    parameters: { end_line: 'Inclusive; start_line - 1 inserts', on_contention: onContention, agent_id: agentId }
  },
  async_delete: {
    description: 'Delete a file, or a symbolic link itself. With expected_hash only that version; else contention.'
  },
  async_rename: {
    description: 'Rename or move a file. With expected_hash only that version; else contention.'
  },
  async_append: {
    description:
      'Add text to the end of a file, read or not: appends of several agents do not conflict. With expected_hash only to that version; else contention.'
  },
  async_list: {
    description: 'List a folder, sorted by name. A hash other than yours means that the file has changed.',
    parameters: { limit: 'Entries a page' },
    defaults: { ignore: true }
  },
  async_status: {
    description:
      'With path: whether the file exists, its hash, who holds it, who waits. Without: the server, its roots, locks and queues.'
  },
  get_server_info: {
    description: 'Which process answers, and its project: name, root, Git branch, commit.'
  },
  async_batch_read: { description: 'Read several files, each as async_read does.', unlisted: ['diff_format'] },
  async_batch_write: { description: 'Create several files, each as async_write does.' },
  async_batch_update: {
    description: 'Change several files, each as async_update does.',
    // As async_update has them.
    unlisted: ['patches[]']
  },
  async_history: {
    description:
      'Known versions of a file, or of all, newest first: hash, author, time, operation, and if it is kept for async_diff and async_restore.'
  },
  async_transaction: {
    description:
      'Make changes of several files, all or none, each as the tool of its kind makes it. Any contention: nothing is changed, and all of them are told.',
    unlisted: [
      'timeout',
      'diff_format',
      'encoding',
      'fencing_token',
      'create_dirs',
      'separator',
      'unified_diff',
      'create_if_missing',
      // As async_update has them.
      'patches[]'
    ]
  },
  async_undo: {
    description:
      "Take changes back, chosen by any of agent, change set, time, globs, versions; others' work stays. Conflicts are told, and nothing changes unless partial. To redo, undo the undo's change set.",
    unlisted: ['timeout', 'diff_format', 'agent_id']
  },
  async_blame: { description: 'Who made each line: agent, change set, version, or commit.' },
  async_diff: { description: 'What differs between two kept versions of a file, and who changed it.' },
  async_restore: {
    description: 'Bring back a kept version of a file, deleted ones included.',
    parameters: {
      hash: 'The version to bring back',
      expected_hash: 'The version to replace; default: the one you have read; null: any'
    },
    unlisted: ['timeout', 'diff_format']
  },
  lock_try: {
    description:
      "Reserve files that you will change over several calls, new names too. Gives leases on the free ones and says who holds the others, until when and why. Others' changes of your files wait; reads go on. Pass fencing_token with your changes. Your calls on a file prolong its lease.",
    parameters: { agent_id: agentId }
  },
  lock_wait: {
    description:
      'lock_try, then wait in line for files that others hold. If the answer has a ticket, your places are kept: call again with it. DEADLOCK: release what the others wait for, then ask again.'
  },
  lock_renew: {
    description:
      'Prolong leases while you make no calls on the files. renewed: false: the lease has ended; read the file again, take a new one.'
  },
  lock_release: { description: 'End your leases on files and your waits, as soon as you are done.' },
  lock_release_all: { description: 'End all your leases and waits.' },
  lock_status: { description: 'Who holds files, until when, and how many wait. Changes nothing.' },
  list_files: { description: 'List the files directly in the first root: size, time, lines.' },
  read_file: {
    description: 'Read a UTF-8 file directly in the first root.',
    parameters: { start_line: '1-based', end_line: 'Inclusive' }
  },
  edit_file: {
    description:
      'Replace, insert and delete lines of a UTF-8 file directly in the first root, and append to it; all or none. With expected_hash, the version whose lines you mean, a changed file is contention with the diff.',
    parameters: {
      line: '1-based, as before this call; insert puts content before it',
      append: 'Text for the end',
      on_contention: onContention,
      agent_id: agentId
    }
  }
}
