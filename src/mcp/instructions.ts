// What a model is told about this server when it connects. Clients cut it at 2,000 characters.
export const instructions = `Many agents and people change this working tree at the same time. Use these tools instead of your native file tools for every file below the roots, so that nobody's work is lost:

- async_read instead of Read; keep the hash it gives.
- async_update instead of Edit: pass that hash as expected_hash, with patches (old_string -> new_string) or whole content.
- async_write only for new files; async_append for logs; async_rename, async_delete, async_list for the rest. async_batch_* for several files at once.
- list_files, read_file and edit_file know no versions, only line numbers: not for files that others change too.

When async_update answers status "contention", nothing was written: somebody changed the file after you read it. The answer has the exact diff from your version to the current one. Do not read the file again: adjust your change by the diff and send it with expected_hash set to current_hash. If patches_applicable is true, the same patches will succeed as they are. Read again only if base_known is false or diff is null.

After a successful update, use the hash of the answer for your next one.

Calls on one file wait in a fair queue; LOCK_TIMEOUT says who holds the file. async_status shows queues.

If several agents share this connection, each passes its own agent_id, so that others see who changed what.`
