// What a greedy client does, and how its process is asked for it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sourceText } from '../sources.ts'

/** And how many requests at once. */
export const greeds = {
  'bodies of 10 MB': 40,
  'reads of 10 MB': 40,
  'deep JSON of 10 MB': 10,
  'wide JSON of 10 MB': 10,
  'nearest-text searches in 10 MB': 10
} as const

export interface GreedyTask {
  readonly url: string
  readonly greed: keyof typeof greeds
  readonly count: number
  /** No two make the same file. */
  readonly round: number
}

/** A multiple of six, and less than the largest file that is read or written. */
export const largeBytes = 10_200_000

export const largeName = (index: number): string => `large-${index}`

export function makeLargeFiles(root: string, count: number): void {
  const text = sourceText(largeBytes)
  for (let index = 0; index < count; index += 1) writeFileSync(join(root, largeName(index)), text)
}
