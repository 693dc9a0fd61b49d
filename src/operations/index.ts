// The table of contents: every operation, in the order in which clients see them.
import { asyncAppend } from './async-append.ts'
import { asyncBlame } from './async-blame.ts'
import { asyncDelete } from './async-delete.ts'
import { asyncDiff } from './async-diff.ts'
import { asyncHistory } from './async-history.ts'
import { asyncList } from './async-list.ts'
import { asyncRead } from './async-read.ts'
import { asyncRename } from './async-rename.ts'
import { asyncRestore } from './async-restore.ts'
import { asyncStatus } from './async-status.ts'
import { asyncTransaction } from './async-transaction.ts'
import { asyncUndo } from './async-undo.ts'
import { asyncUpdate } from './async-update.ts'
import { asyncWrite } from './async-write.ts'
import { asyncBatchRead, asyncBatchUpdate, asyncBatchWrite } from './batch.ts'
import type { Operation } from './definition/define.ts'
import { editFile } from './edit-file.ts'
import { getServerInfo } from './get-server-info.ts'
import { layerApply } from './layer-apply.ts'
import { layerBegin } from './layer-begin.ts'
import { layerDrop } from './layer-drop.ts'
import { layerEnd } from './layer-end.ts'
import { layerList } from './layer-list.ts'
import { land } from './land.ts'
import { landFinish, landPrepare } from './land-prepare.ts'
import { listFiles } from './list-files.ts'
import { lockBreak } from './lock-break.ts'
import { lockRelease, lockReleaseAll } from './lock-release.ts'
import { lockRenew } from './lock-renew.ts'
import { lockStatus } from './lock-status.ts'
import { lockTry } from './lock-try.ts'
import { lockWait } from './lock-wait.ts'
import { nativeHook } from './native-hook.ts'
import { readFile } from './read-file.ts'
import { replay } from './replay.ts'

export const operations: readonly Operation[] = [
  asyncRead,
  asyncWrite,
  asyncUpdate,
  asyncDelete,
  asyncRename,
  asyncAppend,
  asyncList,
  asyncStatus,
  getServerInfo,
  asyncBatchRead,
  asyncBatchWrite,
  asyncBatchUpdate,
  asyncHistory,
  asyncDiff,
  asyncRestore,
  asyncTransaction,
  asyncUndo,
  asyncBlame,
  land,
  lockTry,
  lockWait,
  lockRenew,
  lockRelease,
  lockReleaseAll,
  lockStatus,
  lockBreak,
  landPrepare,
  landFinish,
  nativeHook,
  layerBegin,
  layerEnd,
  layerApply,
  layerList,
  layerDrop,
  replay,
  listFiles,
  readFile,
  editFile
]

/** Those that agents are offered, over MCP and JSON-RPC. */
export const agentOperations = operations.filter(({ isForOperators }) => isForOperators !== true)

const byName = new Map(operations.map((operation) => [operation.name, operation]))

export const findOperation = (name: string): Operation | undefined => byName.get(name)
