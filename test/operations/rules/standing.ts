// What is there before a change, and after one that is refused.
import type { Case } from './way.ts'

/** Brings the file to where the change can be made. Its agent has read it: a native tool may not replace what it has not. */
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

/** An undo names what stands in its way as a conflict. */
export async function refused(c: Case, code: string, words: string): Promise<void> {
  const { answer } = await c.makes(c.way.kind === 'undo' ? 'contention' : code)
  c.t.match(JSON.stringify(answer), words)
  if (c.way.kind === 'undo') c.t.match(answer, { conflicts: [{ path: c.path, reason: 'refused' }] })
}

/** Why rules about the bytes that are there are not for every way. */
export const reasons = {
  native: 'The tool writes by itself: the hook refuses for leases and for what its session has not seen, only.',
  makes: 'It makes a file: there is none whose bytes could be refused.',
  name: 'It takes the name and leaves the bytes as they are.'
}

/** Of the file that a rename replaces. */
export const targetOf = ({ other }: Case): string => `what ${other} was\n`
