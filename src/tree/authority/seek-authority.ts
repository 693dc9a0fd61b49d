// One attempt to become a relay of the process that serves the tree. It is given up after its time, and once another one serves the tree.
import { setTimeout as delay } from 'node:timers/promises'
import type { Coordinator } from '../coordinator/coordinator.ts'
import { Unproven } from '../coordinator/local-link.ts'
import { UnfitVolume } from '../coordinator/volume-view.ts'
import type { Hello } from './messages.ts'
import { connectFirst, RefusedByAuthority, type Relay } from './relay.ts'

interface Seeking {
  readonly coordinator: Coordinator
  readonly hello: () => Hello
  /** How long a call waits for an authority that does not answer, in milliseconds. */
  readonly timeoutMs: () => number
  /** This process takes no part any more. */
  readonly ended: AbortSignal
  /** Etcd does not answer the authority that was found. @param address its own */
  readonly onDoubt: (address: string | undefined) => void
}

/** Between two looks at who serves the tree. */
const lookMs = 200

/** @returns undefined if no process answers: the authority is starting or ending, or hangs. @throws RefusedByAuthority, Unproven, UnfitVolume */
export async function seekAuthority(
  limitMs: number,
  { coordinator, hello, timeoutMs, ended, onDoubt }: Seeking
): Promise<Relay | undefined> {
  const target = coordinator.openPoint()
  // Not AbortSignal.timeout: nothing keeps such a signal from being collected before its time.
  const attempt = new AbortController()
  const giveUp = () => attempt.abort()
  const limit = setTimeout(giveUp, limitMs)
  ended.addEventListener('abort', giveUp, { once: true })
  const address = coordinator.facts()?.authority
  let isOver = false
  if (coordinator.isLeased) void untilReplaced(coordinator, address, () => isOver).then(() => !isOver && giveUp())
  try {
    return await connectFirst(target.targets, {
      hello: hello(),
      view: coordinator.view,
      signal: attempt.signal,
      silenceMs: () => coordinator.silenceMs ?? timeoutMs(),
      onDoubt: () => onDoubt(address)
    })
  } catch (error) {
    const isFinal = [RefusedByAuthority, Unproven, UnfitVolume].some((kind) => error instanceof kind)
    if (isFinal) throw error
    return undefined
  } finally {
    isOver = true
    clearTimeout(limit)
    ended.removeEventListener('abort', giveUp)
    target.close()
  }
}

/** An authority that is cut off or paused sends no welcome: the attempt is given up once its lease has ended. */
async function untilReplaced(
  coordinator: Coordinator,
  address: string | undefined,
  isOver: () => boolean
): Promise<void> {
  do {
    await delay(lookMs, undefined, { ref: false })
    // If etcd does not answer, the attempt goes on.
    if (!isOver()) await Promise.resolve(coordinator.look()).catch(() => {})
  } while (!isOver() && coordinator.facts()?.authority === address)
}
