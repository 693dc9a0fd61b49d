// OperationError, where calls that share their work share its failure.
import t from 'tap'
import { OperationError } from '../src/errors.ts'

t.test('each call adds its own notices to a failure that it shares with others', async (t) => {
  const notices = { notices: [], further_notices: 1 }
  const shared = new OperationError('DIR_NOT_FOUND', 'Directory does not exist.', { path: 'missing' })
  const [mine, theirs] = [shared.withNotices(notices), shared.withNotices(undefined)]
  const failure = {
    status: 'error',
    error_code: 'DIR_NOT_FOUND',
    message: 'Directory does not exist.',
    path: 'missing'
  }
  t.strictSame(mine.toEnvelope(), { ...failure, ...notices })
  t.strictSame(theirs.toEnvelope(), failure)
})
