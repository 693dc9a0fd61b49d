// A command whose reader has gone, such as head, runs to its end: unread output is no reason to stop halfway.
import { isErrno } from '../../support/errno.ts'
import { messageOf } from '../../support/error-message.ts'

const readerGone = ['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'] as const

/** Output that cannot be written for another reason, such as a full disk, is reported and sets the exit code. */
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
