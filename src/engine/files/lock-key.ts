// The key under which a path is locked.

const isAscii = /^\p{ASCII}*$/u

/**
 * One key for all spellings that could be one file on any file system: compatibility forms and case are folded, always.
 * Two files that differ only in case merely share a queue.
 */
export function lockKey(canonicalPath: string): string {
  // Each call comes through here: of ASCII there is one form.
  if (isAscii.test(canonicalPath)) return canonicalPath.toLowerCase()
  return canonicalPath.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')
}
