// AUTHORITY_LOST says what this caller can do for this operation.
import t from 'tap'
import { agentOperations, operations } from '../../../src/operations/index.ts'
import { authorityLost } from '../../../src/tree/authority/authority-lost.ts'

const agentNames = agentOperations.map(({ name }) => name)

/** Of operations that change files or leases, and are not asked again where the journal is gone. */
const advice: Readonly<Record<string, RegExp>> = {
  async_write: /read the file with async_read, and call again if it was not/,
  async_update: /read the file with async_read, and call again if it was not/,
  async_append: /read the file with async_read, and call again if it was not/,
  async_restore: /read the file with async_read, and call again if it was not/,
  async_delete: /async_status whether the file is still there/,
  async_rename: /both names with async_status/,
  async_batch_write: /the files with async_batch_read/,
  async_batch_update: /the files with async_batch_read/,
  async_transaction: /its files with async_batch_read/,
  async_undo: /versions of the files with async_history/,
  land: /git log whether the commit is there/,
  edit_file: /the file with read_file/,
  lock_try: /which leases you hold: call lock_status/,
  lock_wait: /which leases you hold: call lock_status/,
  lock_renew: /which leases you hold: call lock_status/,
  lock_release: /call it again, which does no harm/,
  lock_release_all: /call it again, which does no harm/,
  lock_break: /whether the leases were ended: call lock_status/
}

t.test(
  'each operation that changes something has advice of its own, with names of operations that agents have',
  (t) => {
    const changing = operations.filter(({ annotations, isLocal }) => !annotations.readOnlyHint && isLocal !== true)
    t.strictSame(
      // What programs call for their users is told by these programs.
      changing.map(({ name }) => name).filter((name) => !/^(?:native_hook|land_finish|layer_\w+)$/.test(name)),
      operations.map(({ name }) => name).filter((name) => name in advice)
    )
    for (const [name, words] of Object.entries(advice)) {
      const { message } = authorityLost(name)
      t.match(message, words, name)
      const named = message.match(/\b(?:async|lock|read|edit|list)_\w+/g) ?? []
      t.strictSame(
        named.filter((each) => !agentNames.includes(each)),
        [],
        name
      )
    }
    t.end()
  }
)

t.test('who has named the change is told to repeat it, since it is made once', (t) => {
  t.match(authorityLost('async_rename', true).message, /the very same call again with the same request_id.*made once/)
  t.end()
})
