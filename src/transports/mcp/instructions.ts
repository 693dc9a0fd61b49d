// The text that a model gets about this server when it connects. It names only tools that are listed. Clients cut it at 2,000 characters.
import { toolsNamed } from '../../../schemas/tool-sets.ts'

type Names = ReadonlySet<string>

const bullets: readonly ((listed: Names) => string)[] = [
  (listed) =>
    listed.has('async_read')
      ? '- async_read instead of Read; keep the hash it gives. With known_hash you get only what has changed.'
      : '',
  (listed) =>
    listed.has('async_update')
      ? '- async_update instead of Edit: that hash as expected_hash, with patches (old_string -> new_string, or lines) or whole content. on_contention "merge" makes a change that does not touch what others have changed meanwhile.'
      : '',
  (listed) =>
    bullet(
      only(listed, ['async_write'], 'for new files only'),
      only(listed, ['async_append', 'async_rename', 'async_delete', 'async_list'], 'for the rest'),
      listed.has('async_batch_read') ? 'async_batch_* for several files' : ''
    ),
  (listed) =>
    bullet(
      only(listed, ['async_history', 'async_diff', 'async_blame'], 'for who changed what'),
      only(listed, ['async_restore', 'async_undo'], 'to take changes back')
    ),
  (listed) => bullet(only(listed, ['list_files', 'read_file', 'edit_file'], 'for files directly in the first root'))
]

const contention = `Status "contention": nothing was written, because the file changed after you read it. The answer has the diff from your version to the current one. Do not read again: adjust your change by the diff and send it with expected_hash set to current_hash. If patches_applicable is true, the same patches succeed. Read again only if base_known is false, or if diff is null or only names lines.`

const notices = `Read the notices in an answer: files you have read that others changed since, and leases you have lost. Look at them before you rely on what you know.`

const leases = `A single change needs no lease. To change several files over minutes, lock_try with all of them and a note, lock_wait for those that others hold, edit with each fencing_token, lock_release when done; meanwhile others' changes wait. LOCK_TIMEOUT says who holds a file. LEASE_LOST: nothing was written; read again, and take a new lease if you still need it. DEADLOCK: you and others wait for each other; lock_release what they wait for, then ask again.`

/** If native edits are in the queues, too. */
const nativeLeases = `A single edit needs no lease. To change several files over minutes, lock_try with all of them and a note, lock_wait for those that others hold, edit, lock_release when done; meanwhile others' changes wait. The reason of a refused edit says who holds the file, or what has changed. DEADLOCK: you and others wait for each other; lock_release what they wait for, then ask again.`

const nativeAgents = `Pass agent_id in every call: the name that async-crud-mcp has reported to you, else one name of your own. Under another name your own leases block your edits.`

const agents = `Pass agent_id, one name of your own, in every call: leases and notices belong to it, and others see who changed what. Subagents share your connection; each passes its own name.`

const changers = ['async_update', 'async_delete', 'async_rename', 'async_append', 'edit_file']
const changesOfSeveral = ['async_batch_read', 'async_batch_write', 'async_batch_update', 'async_transaction']
/** What native tools do, too. */
const fileTools = [...toolsNamed(['core', 'files']), ...changesOfSeveral]
const leaseTools = ['lock_try', 'lock_wait', 'lock_release']

export function instructionsFor(listed: Names): string {
  const lines = bullets.map((line) => line(listed)).filter(Boolean)
  const isBeside = !fileTools.some((name) => listed.has(name))
  const intro = 'Many agents and people change this working tree at the same time.'
  const instead =
    ' Use these tools instead of your native file tools for every file below the roots, so that no work is lost:'
  const beside = ` Your own read and edit tools are fine for its files${lines.length === 0 ? '' : '; beside them, use'}`
  return [
    lines.length === 0
      ? `${intro}${beside}.`
      : [`${intro}${isBeside ? `${beside}:` : instead}`, '', ...lines].join('\n'),
    ...(changers.some((name) => listed.has(name)) ? [contention] : []),
    notices,
    ...(leaseTools.every((name) => listed.has(name)) ? [isBeside ? nativeLeases : leases] : []),
    isBeside ? nativeAgents : agents
  ].join('\n\n')
}

/** The names that are listed, and what they are for; "" if none is. */
function only(listed: Names, names: readonly string[], purpose: string): string {
  const there = names.filter((name) => listed.has(name))
  return there.length === 0 ? '' : `${there.join(', ')} ${purpose}`
}

function bullet(...clauses: readonly string[]): string {
  const said = clauses.filter(Boolean)
  return said.length === 0 ? '' : `- ${said.join('; ')}.`
}
