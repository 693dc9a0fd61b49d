// Realistic text of any size: this repository's own sources, repeated.
import { largestSources } from '../test/harness/swarm/swarm.ts'

/** Lines of real code, ASCII only, so that characters and bytes are the same. */
export function sourceLines(count: number): string[] {
  const text = Object.values(largestSources(40)).join('')
  const lines = text
    .replaceAll(/[^\n\x20-\x7e]/g, '-')
    .split('\n')
    .filter((line) => line !== '')
  return Array.from({ length: count }, (_, index) => `${lines[index % lines.length]}\n`)
}

/** Exactly so many bytes, whole lines but for the last. */
export function sourceText(bytes: number): string {
  const averageLine = 20
  return `${sourceLines(Math.ceil(bytes / averageLine))
    .join('')
    .slice(0, bytes - 1)}\n`
}
