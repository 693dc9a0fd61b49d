// Keeps two landings of one tree from testing what neither of them will be.
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { tryLock } from 'fs-native-extensions'

const fileName = 'landing.lock'
const pollMs = 100

/** A process that ends lets it go, however it ends. @param onWait called once if another landing holds it */
export async function withLandingLock(own: string, onWait: () => void, act: () => Promise<void>): Promise<void> {
  const flags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)
  const fd = openSync(join(own, fileName), flags, 0o600)
  try {
    for (let isTold = false; !tryLock(fd); await delay(pollMs)) {
      if (!isTold) onWait()
      isTold = true
    }
    await act()
  } finally {
    closeSync(fd)
  }
}
