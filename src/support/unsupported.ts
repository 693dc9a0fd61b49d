// What some file systems do not have, and refuse: modes, owners, second names, syncs of folders (WSL's drvfs, FAT, FUSE and SMB mounts).
import { isErrno } from './errno.ts'

/** True if the file system has no such thing. Each of them answers in its own way; EISDIR is exFAT's on Windows. */
export function isUnsupported(error: unknown): boolean {
  return isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EISDIR')
}

/** Does what may be refused to the one who has made the file: then it stays as the file system has it. @returns whether it was done */
export function ifSupported(change: () => void): boolean {
  try {
    change()
    return true
  } catch (error) {
    // Some mounts answer with the lack of a right instead.
    if (isUnsupported(error) || isErrno(error, 'EACCES')) return false
    throw error
  }
}
