// What makes a process the authority, its lock and its address: kept in place while other programs remove them.
import { setTimeout as delay } from 'node:timers/promises'
import type { Coordinator } from '../coordinator/coordinator.ts'
import { TreeConflict } from '../state/authority-lock.ts'
import { authorityLost } from './authority-lost.ts'
import type { AuthorityServer } from './authority-server.ts'
import type { MeetingPoint } from '../coordinator/meeting-point.ts'

interface HoldOptions {
  readonly coordinator: Coordinator
  readonly server: AuthorityServer
  /** The lock had been removed, and this process has it again. */
  readonly onRetaken: () => void
  /** Another process took the tree after our folder was removed: the locks and leases held here are void. */
  readonly onDisplaced: () => void
}

/** Delay between two looks at a lock. */
export const retryMs = 15
/** Another process's look at a lock can hold it for a moment. This many looks must agree before it is believed. */
export const looks = 4

export function createAuthorityHold({ coordinator, server, onRetaken, onDisplaced }: HoldOptions) {
  let isDisplaced = false
  let retaking: Promise<void> | undefined
  let point: MeetingPoint | undefined

  async function takeAddress(): Promise<void> {
    leaveAddress()
    point = coordinator.openPoint()
    await server.listen(point)
  }

  function leaveAddress(): void {
    server.stopListening()
    point?.close()
    point = undefined
  }

  async function retake(): Promise<void> {
    for (let look = 1; !(await tryRetake()); look += 1) {
      if (look === looks) {
        isDisplaced = true
        onDisplaced()
        throw authorityLost()
      }
      await delay(retryMs)
    }
    await takeAddress()
    onRetaken()
  }

  /** @throws Error if our folder cannot be made: then no other process can have taken the tree either */
  async function tryRetake(): Promise<boolean> {
    try {
      return await coordinator.campaign()
    } catch (error) {
      if (error instanceof TreeConflict) return false
      throw error
    }
  }

  return {
    takeAddress,
    leaveAddress,
    isDisplaced: () => isDisplaced,
    /** @throws OperationError AUTHORITY_LOST once another process has taken the tree */
    assertNotDisplaced(): void {
      if (isDisplaced) throw authorityLost()
    },
    /** Another program may have removed our folder, and with it the lock that excludes other processes. */
    async ensure(): Promise<void> {
      if (coordinator.isInPlace()) return
      // Calls that come meanwhile wait for the same attempt.
      retaking ??= retake().finally(() => (retaking = undefined))
      await retaking
    },
    /** Without the address no new relay can join; those that are connected stay. */
    async ensureAddress(): Promise<void> {
      if (point?.isInPlace() === false) await takeAddress()
    }
  }
}
