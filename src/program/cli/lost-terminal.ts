// Lets the process end after its terminal was closed. At its exit Node 20 restores the settings of the terminals that it
// started with, and an assertion kills it if one of them is gone.
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { isatty } from 'node:tty'

const descriptors = [0, 1, 2]

/** Call it while the terminal is there. */
export function surviveLostTerminal(): void {
  const terminals = descriptors.filter((fd) => isatty(fd))
  process.on('exit', () => {
    for (const fd of terminals.filter((fd) => !isatty(fd))) {
      closeSync(fd)
      // Takes the lowest free number, which is the one just closed. Node skips a descriptor that is another file by now.
      openSync(devNull, 'r+')
    }
  })
}
