// app.differ: compares versions, large ones off the event loop.
import fp from 'fastify-plugin'
import { createDiffer, type Differ } from '../../src/engine/diff/differ.ts'
import type { Config } from '../../src/config/config.ts'
import { explainLoadError } from '../../src/support/lazy.ts'

declare module 'fastify' {
  interface FastifyInstance {
    differ: Differ
  }
}

export default fp<{ config: Config }>(
  async (app, { config: { crud } }) => {
    const differ = createDiffer({
      contextLines: crud.diff_context_lines,
      timeoutMs: crud.diff_timeout_ms,
      maxDiffBytes: crud.diff_max_bytes,
      maxTextBytes: crud.max_file_size_bytes,
      onFallback: (reason) => app.log.warn({ err: reason }, 'a comparison was made coarsely'),
      onTrouble(error) {
        const meaning = 'Large versions are compared and merged coarsely or not at all.'
        const trouble =
          error === undefined ? undefined : `${explainLoadError('A thread for comparisons', error)} ${meaning}`
        app.degradations.set('comparisons', trouble)
      }
    })
    app.decorate('differ', differ)
    app.addHook('onClose', () => differ.close())
  },
  { name: 'differ', dependencies: ['degradations'] }
)
