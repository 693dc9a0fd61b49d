// How a caller finds out what has become of its change, if no receipt can tell.

const looks: Readonly<Record<string, string>> = {
  async_delete: 'look with async_status whether the file is still there',
  async_rename: 'look for both names with async_status',
  async_batch_write: 'read the files with async_batch_read',
  async_batch_update: 'read the files with async_batch_read',
  async_transaction: 'read its files with async_batch_read',
  async_undo: 'look at the last versions of the files with async_history',
  land: 'look with git log whether the commit is there',
  edit_file: 'read the file with read_file'
}

/** @param operation that changes files, or an empty string if it is not known */
export function adviceAfterLoss(operation: string): string {
  const look = looks[operation] ?? 'read the file with async_read'
  return `It is not known whether a change was made: ${look}, and call again if it was not.`
}
