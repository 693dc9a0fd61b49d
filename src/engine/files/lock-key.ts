// The key under which a path is locked.

/**
 * One key for all spellings that could be one file on any file system: compatibility forms and case are folded, always.
 * Two files that differ only in case merely share a queue.
 */
export function lockKey(canonicalPath: string): string {
  return canonicalPath.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')
}
