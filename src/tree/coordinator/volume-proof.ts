// Whether this host can use its volume: looked at when it starts and before it stands for election, and proven by a change with each renewal of its lease.
import type { Stages } from '../../engine/commit/stages.ts'
import { createRootProbe } from '../../engine/files/root-health.ts'
import type { Root } from '../../engine/files/roots.ts'
import { isErrno, OperationError } from '../../errors.ts'
import { atMost } from '../../support/at-most.ts'
import { messageOf } from '../../support/error-message.ts'
import { lookAtRenames } from './volume-renames.ts'

/** So long may a change of the volume take, in times of one lease: slow is not lost. */
const proofLeases = 2

/** That a volume is full all hosts would find, and what this process lacks may come back. */
export function isLack(error: unknown): boolean {
  return isErrno(error, 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM')
}

export function createVolumeProof(stages: Stages, roots: readonly Root[], ttlSeconds: number) {
  const probeRoots = createRootProbe(roots)
  /** Undefined once it is known how the volume replaces files. */
  let unknown: string | undefined = 'The volume has not been looked at.'
  let isProving = false
  let isLost = false

  async function touchStages(): Promise<void> {
    const limitSeconds = proofLeases * ttlSeconds
    const isDone = await atMost(
      limitSeconds * 1000,
      stages.touch().then(() => true)
    )
    if (isDone === undefined) throw new Error(`no answer in ${limitSeconds} s`)
  }

  return {
    /** Once. What keeps it from being known is left to the next time, and to `assertUsable`. @throws UnfitVolume */
    async look(): Promise<void> {
      if (unknown === undefined) return
      const looks = roots.map((root) => lookAtRenames(root, proofLeases * ttlSeconds * 1000))
      unknown = (await Promise.all(looks)).find((trouble) => trouble !== undefined)
    },
    /**
     * @param wasUsed whether this process has been the authority: then it must leave, for its relays wait for it
     * @throws OperationError if a root is not usable, or does not answer within the time of one lease, or was not looked at
     */
    async assertUsable(wasUsed: boolean): Promise<void> {
      const trouble = (await probeRoots(ttlSeconds * 1000)) ?? unknown
      if (trouble === undefined) return
      isLost ||= wasUsed
      throw notElected(trouble)
    },
    /**
     * Makes the smallest change in the stage of each root, unless a proof is under way.
     * @param isLeased whether the lease of the term in which the proof began surely lasts; asked if the proof fails
     * @returns what is wrong, if the volume is lost
     */
    async prove(isLeased: () => boolean): Promise<string | undefined> {
      if (isProving) return undefined
      isProving = true
      try {
        await touchStages()
        return undefined
      } catch (error) {
        // Once the lease may have ended, another authority may have taken the stage: then the failure says nothing of the volume.
        if (!isLeased() || isLack(error)) return undefined
        isLost = true
        return messageOf(error)
      } finally {
        isProving = false
      }
    },
    /**
     * The volume has failed below this authority, or it is not known whether a change was made. Its open folders lead there for good: a new
     * process opens them anew.
     */
    isLost: (): boolean => isLost || stages.isInDoubt()
  }
}

/** @param trouble a sentence */
export function notElected(trouble: string): OperationError {
  const message = `This host cannot be elected to serve the tree: ${trouble} Nothing was done. Another host can serve it.`
  return new OperationError('OVERLOADED', message, { details: { retry_after_seconds: 1 } })
}
