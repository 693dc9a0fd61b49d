// What is there before a change, and after one that is refused.
import type { Case } from './way.ts'

/** Brings the file to where the change can be made; its agent has read it. */
export async function readied(c: Case): Promise<void> {
  await c.way.prepare(c)
  if (c.way.kind !== 'create') await c.seen(c.ann)
}

/** What is there now, at both names. @returns checks that it still is */
export function standing(c: Case): () => void {
  const [first, second] = [c.read(c.path), c.read(c.other)]
  return () => {
    c.has(first)
    c.has(second, c.other)
  }
}

export const textBefore = (c: Case): string => (c.way.kind === 'create' ? '' : c.text)
