// A test runner for Stryker: for each mutant of the lock manager the checks of test/harness/locks/lock-checks.ts, until one of them fails.
// Nothing in it depends on time: an endless loop and an endless wait are told by counts, so that a busy machine changes no verdict.
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { compileFunction } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { rolldown } from 'rolldown'
import { projectRoot } from '../prepare.mjs'

const sources = 'src/engine/locks'
/** The longest checks of the lock manager itself take a tenth of so many steps, and of so many turns of the event loop. */
const maxSteps = { short: 3_000_000, long: 30_000_000 }
const maxTurns = 20_000

/** A thread that ends this process when its parent has ended: an endless loop would outlive a run that is stopped. */
const watchman = `const parent = process.ppid
setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000)`

/** Ends what a mutant has left behind, such as a timer. */
const isOver = new Error('The next mutant has begun.')

const compiled = (path) => import(pathToFileURL(join(projectRoot, 'dist', path)).href)
const { lockChecks } = await compiled('test/harness/locks/lock-checks.js')
/** Stryker's own, in which the text below looks for the active mutant. */
const stryker = (globalThis.__stryker__ ??= {})

class LockRunner {
  /** The lock manager with all its mutants, each behind a switch. */
  #text
  /** The same; what tells which mutants a check reaches counts steps instead. */
  #counting
  /** What it imports from elsewhere. */
  #modules
  /** The one that is checked now. */
  #loaded

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    const input = join(sources, 'lock-manager.ts')
    const bundle = await rolldown({ input, platform: 'node', external: (id) => id.startsWith('../../') })
    const { output } = await bundle.generate({ format: 'cjs' })
    this.#text = output[0].code
    this.#counting = this.#text.replaceAll(/stryCov_[\w$]+\("[^)]*\)/g, 'countStep()')
    const paths = output[0].imports.filter((path) => path.startsWith('../../'))
    const modules = paths.map(async (path) => [path, await compiled(join(sources, path.replace(/\.ts$/, '.js')))])
    this.#modules = new Map(await Promise.all(modules))
    new Worker(watchman, { eval: true }).unref()
    for (const event of ['uncaughtException', 'unhandledRejection'])
      process.on(event, (error) => error === isOver || (this.#loaded.failure ??= error ?? event))
  }

  async dryRun() {
    this.#load(this.#text)
    const tests = []
    for (const each of lockChecks) {
      const { title } = each
      stryker.currentTestId = title
      const start = performance.now()
      const failureMessage = await this.#run(each)
      const status = failureMessage === undefined ? 0 : 1
      tests.push({ id: title, name: title, timeSpentMs: performance.now() - start, status, failureMessage })
    }
    stryker.currentTestId = undefined
    return { status: 'complete', tests, mutantCoverage: stryker.mutantCoverage }
  }

  async mutantRun({ activeMutant: { id }, testFilter }) {
    stryker.activeMutant = id
    this.#load(this.#counting)
    const checks = lockChecks.filter(({ title }) => testFilter?.includes(title) !== false)
    for (const [index, check] of checks.entries()) {
      const failureMessage = await this.#run(check)
      if (failureMessage !== undefined)
        return { status: 'killed', killedBy: [check.title], failureMessage, nrOfTests: index + 1 }
    }
    return { status: 'survived', nrOfTests: checks.length }
  }

  /** Anew for each mutant, since some change what is made only once. */
  #load(text) {
    const loaded = { create: undefined, stepsLeft: maxSteps.short, failure: undefined }
    this.#loaded = loaded
    const countStep = () => {
      if (loaded !== this.#loaded) throw isOver
      loaded.stepsLeft -= 1
      if (loaded.stepsLeft < 0) throw (loaded.failure ??= new Error('It goes on and on.'))
    }
    const exports = {}
    try {
      compileFunction(text, ['exports', 'require', 'countStep'])(exports, (path) => this.#modules.get(path), countStep)
      loaded.create = exports.createLockManager
    } catch (error) {
      loaded.failure = error
    }
  }

  /** @returns how it failed; undefined if it did not */
  async #run({ check, isLong }) {
    const loaded = this.#loaded
    const progress = { isOver: false }
    loaded.stepsLeft = isLong === true ? maxSteps.long : maxSteps.short
    const run = async () => {
      try {
        await check(loaded.create)
      } catch (error) {
        loaded.failure ??= error
      }
      progress.isOver = true
    }
    void run()
    for (let turns = 0; !progress.isOver && turns < maxTurns; turns += 1) await setImmediate()
    // For what nobody awaits.
    await setImmediate()
    if (!progress.isOver) loaded.failure ??= new Error('It waits for ever.')
    return loaded.failure === undefined ? undefined : String(loaded.failure)
  }
}

const createRunner = () => new LockRunner()
createRunner.inject = []
export const strykerPlugins = [{ kind: 'TestRunner', name: 'locks', factory: createRunner }]
