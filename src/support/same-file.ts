// Whether two looks have found one file. Node and the system do not always give the same facts to a look by name and to one by descriptor.
import { closeSync, fstatSync, lstatSync, openSync, type BigIntStats } from 'node:fs'
import { orUndefined } from './attempt.ts'

/** What distinguishes a file that exists from every other one. */
export type FileNode = Pick<BigIntStats, 'dev' | 'ino'>

let isReliable: boolean | undefined

/**
 * The one comparison of device and inode. On Windows 11, `lstat` gives another device than `fstat` with Node 22.12 to 22.16, 24.0 and 24.1
 * (libuv 4698). If the two looks disagree, the inode decides alone: a look for a file that was seen stays on its volume.
 */
export function isSameFile(one: FileNode | undefined, other: FileNode | undefined): boolean {
  if (one === undefined || other === undefined || one.ino !== other.ino) return false
  return one.dev === other.dev || !isDeviceReliable()
}

function isDeviceReliable(): boolean {
  return (isReliable ??= process.platform !== 'win32' && agreesOn(process.execPath) !== false)
}

/** Whether both looks give a file that is surely there the same device; undefined if they did not find one file. */
function agreesOn(path: string): boolean | undefined {
  return orUndefined(() => {
    const fd = openSync(path, 'r')
    try {
      const [named, open] = [lstatSync(path, { bigint: true }), fstatSync(fd, { bigint: true })]
      return named.ino === open.ino ? named.dev === open.dev : undefined
    } finally {
      closeSync(fd)
    }
  })
}
