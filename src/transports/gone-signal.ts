// The signal of an HTTP call: aborted when its client has gone.
import type { ServerResponse } from 'node:http'
import { OperationError } from '../errors.ts'
import { LazyAbort } from '../support/lazy-signal.ts'
import { untilAnswered } from '../support/until-answered.ts'

/** Aborted when the connection is closed before the answer has gone out. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new LazyAbort()
  untilAnswered(response, () => {
    if (!response.writableFinished)
      controller.abort(new OperationError('CANCELLED', 'The client closed the connection; nothing was changed.'))
  })
  return controller.signal
}
