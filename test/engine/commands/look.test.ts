// What a look before a command says of a path at which something changes at that moment.
import { realpathSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lookAt } from '../../../src/engine/commands/look.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { createLockManager } from '../../../src/engine/locks/lock-manager.ts'
import { createBases } from '../../../src/engine/versions/bases.ts'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { cannotLink } from '../../fixtures/links.ts'
import { makeTree } from '../../fixtures/tree.ts'

t.test(
  'a symbolic link that goes away while it is looked at does not fail the command',
  { skip: cannotLink },
  async (t) => {
    const root = realpathSync(makeTree(t).root)
    const path = join(root, 'link')
    symlinkSync('target', path)
    const limits = { maxFileBytes: 1e6, maxSyncBytes: 1e6 }
    const files = createFileStore({ roots: [root], ...limits, hardlinks: 'break', protectedPaths: [] })
    const open: typeof files.open = (...place) => {
      const opened = files.open(...place)
      rmSync(path)
      return opened
    }
    const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
    const rest = { history, bases: createBases({ maxBytes: 1e9 }), locks: createLockManager() }
    const effect = { isBounded: true, files: new Set([path]), places: [], leavesProcess: false }
    t.match(await lookAt(effect, { ...rest, files: { ...files, open } }), {
      absent: new Set(),
      free: new Set(),
      isWhole: false
    })
  }
)
