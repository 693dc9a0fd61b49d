// app.call: runs an operation on the one engine of the tree, in this process or its authority. All transports are layers over it.
import type { AddressInfo } from 'node:net'
import fp from 'fastify-plugin'
import { createRootlessTree } from '../../src/tree/authority/rootless-tree.ts'
import { createTree, type Tree } from '../../src/tree/authority/tree.ts'
import { createCoordinator } from '../../src/tree/coordinator/hosts.ts'
import type { Config } from '../../src/config/config.ts'
import { thisProcess, type Member } from '../../src/tree/state/state-file.ts'
import type { CallOperation } from '../../src/engine/call/context.ts'
import type { Operation } from '../../src/operations/definition/define.ts'
import { findOperation } from '../../src/operations/index.ts'
import { endLandings } from '../../src/operations/land/finish.ts'
import { serverStopping, unknownOperation } from '../../src/errors.ts'
import { createRunningCalls } from '../../src/engine/call/running-calls.ts'

declare module 'fastify' {
  interface FastifyInstance {
    call: CallOperation
    tree: Tree
    /** Calls begun and ended in this process so far, those of relays included. */
    callSteps: () => number
    /** When the stop must end, by performance.now(); undefined before a stop. */
    stopsAt: number | undefined
  }
}

interface Options {
  readonly config: Config
  readonly onDisplaced: () => void
}

export default fp<Options>(
  async (app, { config, onDisplaced }) => {
    const { daemon } = config
    const running = createRunningCalls()
    const [first, ...others] = app.files.roots
    let isStopping = false

    function member(): Member {
      const port = (app.server.address() as AddressInfo | null)?.port ?? null
      return { ...thisProcess, transport: daemon.transport, host: daemon.host, port }
    }

    const tree =
      first === undefined
        ? createRootlessTree(app.engine)
        : createTree({
            coordinator: createCoordinator({
              settings: config.tree,
              stages: app.commits.stages,
              roots: [first, ...others],
              onTrouble: (message) => app.degradations.set('hosts', message)
            }),
            engine: app.engine,
            budget: app.requestBudget,
            events: app.events,
            roots: [first, ...others],
            spellings: [first.real, first.given],
            findOperation,
            receipts: app.receipts,
            config: () => app.settings.current,
            member,
            async openState(isContinued, epoch) {
              const recordVersions = app.settlement.settle()
              await app.persistence.open(isContinued, epoch)
              app.engine.awaitVersions(app.persistence.settled().then(recordVersions))
            },
            onRole(role) {
              app.counts.authorityChanges += 1
              if (role !== 'authority') return app.firstSights.end()
              app.settlement.sweep()
              void app.layers.sweep()
              app.firstSights.begin()
              endLandings(app).catch((error: unknown) => app.log.error({ err: error }, 'a landing could not be ended'))
            },
            state: app.persistence.location,
            followState: app.persistence.follow,
            onDisplaced() {
              app.persistence.abandon()
              onDisplaced()
            },
            degrade: (part, message) => app.degradations.set(part, message),
            log: app.log
          })
    app.decorate('stopsAt', undefined)
    app.decorate('callSteps', () => running.steps() + app.engine.steps())
    app.decorate('tree', tree)
    const carry = app.callCounts.counting(
      app.traced((operation, input, options) => {
        if (isStopping) throw serverStopping()
        const full = (operation as Operation).unpack(input)
        const make = (unpacked: unknown) => tree.call(operation, unpacked, options)
        return running.track(full instanceof Promise ? full.then(make) : make(full))
      })
    )
    app.decorate('call', (name, input, options) => {
      const operation = findOperation(name)
      return operation === undefined ? Promise.reject(unknownOperation(name)) : carry(operation, input, options)
    })
    app.server.on('listening', tree.introduce)

    // Refuses new calls and answers waiting ones; calls that hold their lock may finish within the operator's time limit.
    app.addHook('preClose', async () => {
      isStopping = true
      const limitMs = daemon.stop_timeout_seconds * 1000
      app.stopsAt = performance.now() + limitMs
      const announced = tree.announceLeaving()
      // From now on nothing is granted: a call that waits keeps its place, and waits on in the next process.
      app.persistence.beginStop()
      await Promise.all([announced, app.engine.stop(limitMs), running.ended(limitMs)])
      const isLast = tree.isLast()
      // A client of the only process may come back to the next one.
      if (!isLast) tree.endConnections()
      // The next authority finds the state written and unlocked.
      await app.persistence.close(isLast)
      await tree.leave()
      // A client that has not taken the answer by then goes without it.
      setTimeout(() => app.server.closeAllConnections(), 200).unref()
    })
  },
  {
    name: 'authority',
    dependencies: ['degradations', 'counts', 'tracing', 'request-budget', 'commands', 'engine', 'persistence']
  }
)
