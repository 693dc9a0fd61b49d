// Lets the process go on to its end when the other end of its standard streams is gone: a reader, or a terminal.
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { isatty } from 'node:tty'
import { isErrno } from '../../support/errno.ts'
import { messageOf } from '../../support/error-message.ts'

const readerGone = ['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'] as const
const descriptors = [0, 1, 2]

/**
 * A command whose reader has gone, such as head, runs to its end: unread output is no reason to stop halfway. Output that
 * cannot be written for another reason, such as a full disk, is reported and sets the exit code.
 */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (isErrno(error, ...readerGone)) return
      process.exitCode = 1
      if (stream === process.stdout)
        process.stderr.write(`async-crud-mcp: standard output cannot be written: ${messageOf(error)}\n`)
    })
  }
}

/**
 * Lets the process end after its terminal was closed. At its exit Node 20 restores the settings of the terminals that it
 * started with, and an assertion kills it if one of them is gone. Call it while the terminal is there.
 */
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
