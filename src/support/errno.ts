// Tells file-system errors apart. It has its own file, so that a small program can use it without loading the contract.
import { constants } from 'node:os'

/** Of a handle that leads nowhere any more. Node has no name for it, and calls it an unknown system error. */
const stale = -constants.errno.ESTALE

/** Narrows a file-system error by its `code`; messages differ between platforms and are never read. */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(codeOf(error))
}

/** As the system calls it. */
export function codeOf(error: Error & { readonly code?: unknown; readonly errno?: unknown }): string {
  return error.errno === stale ? 'ESTALE' : String(error.code)
}
