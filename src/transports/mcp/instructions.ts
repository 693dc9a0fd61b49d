// The text that a model gets about this server when it connects. Clients cut it at 2,000 characters.
export const instructions = `Many agents and people change this working tree at the same time. Use these tools instead of your native file tools for every file below the roots, so that no work is lost:

- async_read instead of Read; keep the hash it gives. With known_hash you get only what has changed.
- async_update instead of Edit: that hash as expected_hash, with patches (old_string -> new_string, or lines) or whole content. on_contention "merge" makes a change that does not touch what others have changed meanwhile.
- async_write for new files only; async_append, async_rename, async_delete, async_list for the rest; async_batch_* for several files.
- async_history, async_diff, async_restore: who changed what, and how to restore it.
- list_files, read_file, edit_file are for files that no other agent changes.

Status "contention": nothing was written, because the file changed after you read it. The answer has the exact diff from your version to the current one. Do not read again: adjust your change by the diff and send it with expected_hash set to current_hash. If patches_applicable is true, the same patches succeed. Read again only if base_known is false or diff is null.

Read the notices in an answer: files you have read that others changed since, and leases you have lost. Look at them before you rely on what you know.

A single change needs no lease. To change several files over minutes, lock_try with all of them and a note, lock_wait for those that others hold, edit with each fencing_token, lock_release when done; meanwhile others' changes wait. LOCK_TIMEOUT says who holds a file. LEASE_LOST: nothing was written; read again, and take a new lease if you still need it. DEADLOCK: you and others wait for each other; lock_release what they wait for, then ask again.

Pass agent_id, one name of your own, in every call: leases and notices belong to it, and others see who changed what. Subagents share your connection; each passes its own name.`
