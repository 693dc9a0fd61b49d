// Finds file systems that are mounted below a root: a change there cannot take effect by a rename out of the root's stage.
import { below } from '../../support/relocate.ts'
import { readText } from '../../support/read-text.ts'

/** @throws Error that names the folder. Other systems than Linux do not say; there such a change is refused when it is made. */
export function refuseMountsBelow(root: string): void {
  const inner = mountPoints().find((path) => path !== root && below(root, path) !== undefined)
  if (inner === undefined) return
  throw new Error(
    `several hosts cannot serve ${root}: ${inner} is a file system of its own, and a change there cannot be kept from a host that lost the tree. Unmount it, or make it a tree of its own`
  )
}

/** The fifth field of a line is the mount point, in which blanks are octal. */
function mountPoints(): string[] {
  let table: string
  try {
    table = readText('/proc/self/mountinfo')
  } catch {
    return []
  }
  return table.split('\n').flatMap((line) => {
    const path = line.split(' ')[4]
    return path === undefined
      ? []
      : [path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)))]
  })
}
