// A change whose system call failed for want of an answer: the server of a network volume may have made it, and the answer was lost.
import { isErrno } from '../../errors.ts'
import type { Shelf } from '../files/directory.ts'

/** It is not known whether the change was made: the volume answers no look at it either. */
export class Unanswered extends Error {
  constructor(cause: unknown) {
    super('the volume does not answer', { cause })
  }
}

/** These say nothing of what had been asked. */
const withoutAnswer = [
  'EIO',
  'ENOTCONN',
  'ECONNABORTED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'EREMOTEIO',
  'ESHUTDOWN',
  'ESTALE',
  'ETIMEDOUT'
]

/**
 * Makes a change by one call of the system.
 * @param isMade looks whether it is in the tree; called only if there was no answer
 * @throws Error of the system if it was not made, Unanswered if that is not known
 */
export function makeCertainly(change: () => void, isMade: () => boolean): void {
  try {
    change()
  } catch (error) {
    if (!isErrno(error, ...withoutAnswer)) throw error
    if (!look(isMade, error)) throw error
  }
}

function look(isMade: () => boolean, error: unknown): boolean {
  try {
    return isMade()
  } catch {
    throw new Unanswered(error)
  }
}

/** @throws Error if the folder does not say */
export function isGone(folder: Shelf, name: string): boolean {
  if (folder.stat('.') === undefined) throw new Error(`another host has taken ${folder.path}`)
  return folder.stat(name) === undefined
}
