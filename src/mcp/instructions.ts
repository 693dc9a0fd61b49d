// What a model is told about this server when it connects. Clients cut it at 2,000 characters.
export const instructions = `Many agents and people change this working tree at the same time. Use these tools instead of your native file tools for every file below the roots, so that nobody's work is lost:

- async_read instead of Read; keep the hash it gives.
- async_update instead of Edit: pass that hash as expected_hash, with patches (old_string -> new_string) or whole content.
- async_write for new files only; async_append, async_rename, async_delete, async_list for the rest; async_batch_* for several files at once.
- list_files, read_file, edit_file know line numbers but no versions: not for files that others change too.

Status "contention": nothing was written, since the file changed after you read it. The answer has the exact diff from your version to the current one. Do not read the file again: adjust your change by the diff and send it with expected_hash set to current_hash. If patches_applicable is true, the same patches will succeed. Read again only if base_known is false or diff is null. After an update, its answer has the hash for your next one.

A single change needs no lease. To change several files over minutes, reserve them: lock_try with all of them and a note, lock_wait for those that others have, edit each with its fencing_token, lock_release when done. While you hold a lease, others' changes of the file wait. LOCK_TIMEOUT says who holds a file. LEASE_LOST: your lease ended and nothing was written; read the file again, and lease it anew if you still need it. DEADLOCK: you and others wait for each other; lock_release what they wait for, then ask again. Read the notices in an answer: they tell what you have lost.

Pass agent_id, one name of your own, in every call: leases belong to it, and others see who changed what. Subagents share your connection; each passes a name of its own.`
