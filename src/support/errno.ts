// Tells file-system errors apart. Alone in its file, so that a small program can use it without loading the contract.

/** Narrows a file-system error by its `code`; messages differ between platforms and are never looked at. */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}
