// One request on a file and its answer, as the routes hand them on.
import type { IncomingHttpHeaders } from 'node:http'
import type { OperationResult } from '../../engine/call/context.ts'
import type { OperationError } from '../../errors.ts'
import type { Reply } from '../reply.ts'

export interface FileRequest {
  readonly method: string
  /** Decoded; one that begins with a slash is absolute, as for operations. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Reads it. @throws OperationError */
  readonly body: () => Promise<Buffer>
  /**
   * Calls an operation.
   * @param isShown false if the client gets nothing of what the answer has: then it has not seen it
   */
  readonly call: (name: string, input: object, takesNotices: boolean, isShown?: boolean) => Promise<OperationResult>
  /** Answers with an error that has another status here than elsewhere. */
  readonly refuse: (error: OperationError, status: number) => Reply
}
