// The package has no types. Locks belong to the open file, not to the process, and end with it.
declare module 'fs-native-extensions' {
  /** @returns false if another open file holds a lock that excludes this one. Exclusive needs a descriptor open for writing */
  export function tryLock(fd: number, options?: { readonly shared?: boolean }): boolean
  /** The same of a range of its bytes, which need not exist; a length of 0 is all that follows. */
  export function tryLock(fd: number, offset: number, length: number, options?: { readonly shared?: boolean }): boolean
}
