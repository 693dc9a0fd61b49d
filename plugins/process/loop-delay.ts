// app.loopDelay: how late the event loop has been within the last minute.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    loopDelay: {
      /** In milliseconds: as many of 100 turns were late by no more than this. */
      readonly percentile: (percent: number) => number
    }
  }
}

const resolutionMs = 10
const windowMs = 60_000

export default fp(
  async (app) => {
    const delay = monitorEventLoopDelay({ resolution: resolutionMs })
    delay.enable()
    // An old block says nothing about the present.
    const renewal = setInterval(() => delay.reset(), windowMs)
    renewal.unref()
    app.decorate('loopDelay', { percentile: (percent) => toMs(delay.percentile(percent)) })
    app.addHook('onClose', async () => {
      clearInterval(renewal)
      delay.disable()
    })
  },
  { name: 'loop-delay' }
)

/** The histogram includes the timer's own interval. */
function toMs(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e4) / 100 - resolutionMs)
}
