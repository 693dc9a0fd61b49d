// Keeps two landings of one tree from testing what neither of them will be.
import { constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { tryLock } from 'fs-native-extensions'

const fileName = 'landing.lock'
const pollMs = 100

/** Held until this process ends. @param onWait called once if another process holds it */
export async function takeLandingLock(own: string, onWait: () => void): Promise<void> {
  const flags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)
  const fd = openSync(join(own, fileName), flags, 0o600)
  for (let isTold = false; !tryLock(fd); await delay(pollMs)) {
    if (!isTold) onWait()
    isTold = true
  }
}
