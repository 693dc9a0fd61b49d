// The files whose versions are known, page by page.
import type { History } from './history.ts'

export interface TrackedFile {
  /** Canonical. */
  readonly path: string
  /** Of the last known version. */
  readonly hash: string
}

export interface TrackedFiles {
  /** By path. */
  readonly files: readonly TrackedFile[]
  readonly hasMore: boolean
}

/** @param after path of the last file of the page before */
export function listTracked(history: History, after: string | undefined, limit: number): TrackedFiles {
  const paths = history.paths().filter((path) => after === undefined || path > after)
  const files: TrackedFile[] = []
  for (const path of paths.sort()) {
    const hash = history.known(path)?.hash
    // It is gone.
    if (hash === undefined) continue
    if (files.length === limit) return { files, hasMore: true }
    files.push({ path, hash })
  }
  return { files, hasMore: false }
}
