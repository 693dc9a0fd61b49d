// Whether a folder lies in a file system that is only in memory: what is there is gone after a restart of the machine or the container.
import { statfsSync } from 'node:fs'
import { orUndefined } from './attempt.ts'

/** Of Linux: tmpfs and ramfs. Other systems have no such numbers, or none that mean this. */
const inMemoryTypes: readonly number[] = [0x0102_1994, 0x8584_58f6]

export function isInMemory(folder: string): boolean {
  const type = process.platform === 'linux' ? orUndefined(() => statfsSync(folder).type) : undefined
  return type !== undefined && inMemoryTypes.includes(type)
}
