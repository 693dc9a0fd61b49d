// Gives memory back when no call has begun or ended for a while.
import fp from 'fastify-plugin'
import type { Config } from '../../src/config/config.ts'
import { collectWhenIdle } from '../../src/support/collect-when-idle.ts'

export default fp<{ config: Config }>(
  async (app, { config: { daemon } }) => {
    if (daemon.idle_collect_seconds === 0) return
    const end = collectWhenIdle(app.callSteps, daemon.idle_collect_seconds * 1000)
    app.addHook('preClose', async () => end())
  },
  { name: 'memory', dependencies: ['authority'] }
)
