// Runs the service until it is told to stop.
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { createApp } from '../app.ts'
import type { Config } from '../config.ts'
import { isErrno } from '../errors.ts'
import { version } from '../version.ts'

/** A port nobody asked for explicitly moves up to this one (PRD 11.3). */
const lastPort = 8819
/** The whole stop, waiting operations included, takes no longer. */
const stopLimitMs = 2000

export interface ServeOptions {
  readonly config: Config
  /** True where a flag or the environment names the port: then no other one is taken. */
  readonly isPortExplicit: boolean
}

export async function serve({ config, isPortExplicit }: ServeOptions): Promise<void> {
  const app = await createApp({ config, version })
  app.log.info({ version, roots: app.files.roots.map(({ given }) => given) }, 'starting')
  app.serverFacts.port = await listen(app, config, isPortExplicit)
  closeWithGrace({ delay: stopLimitMs, logger: false }, async ({ signal, err }) => {
    if (err !== undefined) app.log.fatal({ err }, 'stopping after an unexpected failure')
    else app.log.info({ signal }, 'stopping')
    await app.close()
  })
}

/** Binds instead of probing: whoever probes can lose the port before binding it. */
async function listen(
  app: FastifyInstance,
  { daemon: { host, port } }: Config,
  isPortExplicit: boolean
): Promise<number> {
  for (let candidate = port; ; candidate += 1) {
    try {
      await app.listen({ host, port: candidate, listenTextResolver: (url) => `listening on ${url}, MCP at ${url}/mcp` })
      return candidate
    } catch (error) {
      if (!isErrno(error, 'EADDRINUSE')) throw error
      if (isPortExplicit)
        throw new Error(`port ${port} is taken: stop what listens there, or choose another --port`, { cause: error })
      if (candidate >= lastPort) throw new Error(`no port from ${port} to ${lastPort} is free`, { cause: error })
    }
  }
}
