// A turn of native tools: which edits have been announced in it, and which of them have ended.
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { Announcement, NativeTurn, TargetFile, UnseenChange } from '../../engine/leases/native-turns.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import type { ToolEdit } from './record-made.ts'

/** @param seconds after the last announcement, the turn ends unheard @param settled its outcome, once it has ended */
export function createNativeTurn(
  agentId: string,
  before: ReadonlyMap<string, FileVersion | undefined>,
  seconds: number,
  settled: () => Promise<string | undefined>
) {
  const ended = withResolvers<{ readonly isReported: boolean }>()
  const announced: (Announcement & { isReported: boolean })[] = []
  let timer: NodeJS.Timeout | undefined
  let isOver = false

  function finish(isReported: boolean): Promise<string | undefined> {
    isOver = true
    clearTimeout(timer)
    ended.resolve({ isReported })
    return settled()
  }

  /** By the number of the call, or else by what it is, or else the first. */
  function findOpen(callId: string | undefined, files: readonly TargetFile[]) {
    const open = announced.filter((one) => !one.isReported)
    const same = open.filter((one) => callId === undefined || one.callId === undefined || one.callId === callId)
    return same.find((one) => one.files.some((file) => files.some((other) => isSameEdit(file, other)))) ?? same[0]
  }

  return {
    agentId,
    before,
    get isOver(): boolean {
      return isOver
    },
    announce(announcement: Announcement): boolean {
      if (isOver) return false
      announced.push({ ...announcement, isReported: false })
      clearTimeout(timer)
      timer = setTimeout(() => void finish(false), seconds * 1000)
      return true
    },
    report(callId: string | undefined, files: readonly TargetFile[]): Promise<string | undefined> {
      const own = files.filter(({ path }) => before.has(path))
      const open = findOpen(callId, own)
      // Its announcement is that of an earlier turn.
      if (open === undefined) announced.push({ callId, files: own, unseen: [], isReported: true })
      else open.isReported = true
      return announced.every(({ isReported }) => isReported) ? finish(true) : Promise.resolve(undefined)
    },
    end: (): Promise<string | undefined> => finish(false),
    /** @param signal aborted if the hook has gone before it had its answer */
    async ended(signal: AbortSignal): Promise<{ readonly isReported: boolean }> {
      const silent = () => void finish(false)
      if (signal.aborted) silent()
      signal.addEventListener('abort', silent)
      try {
        return await ended.promise
      } finally {
        signal.removeEventListener('abort', silent)
      }
    },
    /** In the order in which they were announced. */
    editsOf: (path: string): readonly ToolEdit[] =>
      announced.flatMap(({ files, isReported }) =>
        files.filter((file) => file.path === path).map(({ patches, content }) => ({ patches, content, isReported }))
      ),
    get unseen(): readonly UnseenChange[] {
      return announced.flatMap((one) => one.unseen)
    }
  } satisfies NativeTurn & Record<string, unknown>
}

function isSameEdit(one: TargetFile, other: TargetFile): boolean {
  const textOf = ({ path, patches, content }: TargetFile) => JSON.stringify([path, patches, content])
  return textOf(one) === textOf(other)
}
