// Bounds the bytes that this process holds at once for its clients, over all transports: beyond it requests are refused, and work waits.
import { OperationError } from '../../errors.ts'
import { createWorkBudget } from './work-budget.ts'

/** The bytes of one request that is still arriving. */
export interface Share {
  /** @returns false if there is no room: the share is refused then */
  readonly add: (bytes: number) => boolean
  /** The request is whole: it no longer makes room for another. */
  readonly settle: () => void
  /** Harmless when called again. */
  readonly release: () => void
}

export interface ByteBudgetOptions {
  readonly maxBytes: number
  /** How long a call waits for room to work in. */
  readonly maxWorkWaitMs: number
}

export type ByteBudget = ReturnType<typeof createByteBudget>

/** A request up to this size finds room in the reserve, so that the calls which end a jam (lock_release, say) get through. */
const smallBytes = 65_536
const reservedShare = 1 / 8
const workShare = 1 / 2
const retryAfterSeconds = 1

export function createByteBudget({ maxBytes, maxWorkWaitMs }: ByteBudgetOptions) {
  const roomForLarge = maxBytes * (1 - reservedShare)
  let held = 0
  const work = createWorkBudget({
    maxBytes: maxBytes * workShare,
    room: () => roomForLarge - held,
    count: (bytes) => (held += bytes),
    maxWaitMs: maxWorkWaitMs
  })
  /** Shares that are still arriving, by their begin. */
  const arriving = new Map<Share, (error: OperationError) => void>()

  /** Requests that arrive slowly make room first, so that a sender which never ends cannot keep the others out. */
  function makeRoom(limit: number): void {
    for (const [share, onRefused] of arriving) {
      if (held <= limit) return
      share.release()
      onRefused(refusal())
    }
  }

  function refusal(): OperationError {
    const message = `The requests under way, and the work on them, have all ${maxBytes} bytes that the server holds at once (daemon.max_pending_request_bytes). This one was not carried out: send it again in ${retryAfterSeconds} s.`
    return new OperationError('OVERLOADED', message, { details: { retry_after_seconds: retryAfterSeconds } })
  }

  /** @param onRefused called at most once, while the request arrives: its bytes are not counted any more, and must be dropped */
  function open(onRefused: (error: OperationError) => void): Share {
    let bytes = 0
    let isOpen = true
    const share: Share = {
      add(more) {
        if (!isOpen) return false
        bytes += more
        held += more
        makeRoom(bytes > smallBytes ? roomForLarge : maxBytes)
        return isOpen
      },
      settle: () => void arriving.delete(share),
      release() {
        isOpen = false
        arriving.delete(share)
        held -= bytes
        bytes = 0
      }
    }
    arriving.set(share, onRefused)
    return share
  }

  return {
    open,
    /** The bytes that calls work on, beside their requests. */
    work,
    /** The use of the budget right now, and the most that work has had. */
    get use() {
      return { limit: maxBytes, held, ...work.use }
    },
    /** For a request that is whole already. @returns releases it @throws OperationError OVERLOADED */
    take(bytes: number): () => void {
      const share = open((error) => {
        throw error
      })
      share.add(bytes)
      share.settle()
      return share.release
    }
  }
}
