// Tells file-system errors apart. It has its own file, so that a small program can use it without loading the contract.

/** Narrows a file-system error by its `code`; messages differ between platforms and are never read. */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}
