// What a client shows of a package before it is installed: scripts/package.mjs puts it into the manifests.

export const title = 'Async CRUD'

/** Of the list with one plugin that Claude Code is given. */
export const marketplace = 'Async CRUD: many agents change the files of one working tree at once without losing a line.'

/** @param client whose own edit tools stay in use, beside hooks */
export const besideHooks = (client) =>
  `Several agents edit the same files at once and no line is lost: hooks put the edits of ${client} into one queue for each file, and tools add leases, history, blame and undo.`

/** In Markdown. */
export const long = `Many agents, and the people beside them, change the files of one folder at the same time without losing a line.

- **No lost update.** A change names the version that it was made for. If the file has changed meanwhile, nothing is written: the answer has the lines that differ, their author and the new version. Changes that do not overlap can be merged in the same call.
- **Leases.** An agent that works on several files for minutes reserves them. Other agents wait in a fair queue and are told who holds the file, until when, and why.
- **History.** Each version is kept for a time. An agent sees who changed a line, compares versions, and takes back its own changes without those of others.

The server reads and changes only files below the folder that you choose. It sends nothing over a network.`
