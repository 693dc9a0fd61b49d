// The threads that run large jobs: started when first needed, limited in number, with no job waiting for ever.
import type { Piscina } from 'piscina'
import { installed } from '../../support/installation.ts'
import { createLazy } from '../../support/lazy.ts'
import { createAdmissionQueue, PoolBusy } from './admission-queue.ts'
import type { Jobs } from './worker.ts'

interface PoolOptions {
  readonly maxThreads: number
  /** Milliseconds after which a job is given up, the wait for a thread included. */
  readonly patienceMs: number
  /** Called with the reason why there are no threads, or an idle one fails; with undefined once a job is done. */
  readonly onTrouble: (error: unknown) => void
}

const idleTimeoutMs = 30_000
// Beyond this a caller would wait longer for a thread than the answer is worth, and the texts fill the memory.
const waitingPerThread = 8

export function createPool({ maxThreads, patienceMs, onTrouble }: PoolOptions) {
  // Piscina's own queue is kept empty: tasks with a signal are not counted in it, and without minimum threads it starts
  // none for tasks that wait behind an aborted one.
  const queue = createAdmissionQueue(maxThreads, maxThreads * waitingPerThread)
  const threads = createLazy(
    () => startThreads(maxThreads, onTrouble),
    (error) => error !== undefined && onTrouble(error)
  )
  let closed = false

  /** Rejects if the queue is full, the thread fails or takes too long, the pool is closed, or on abort. */
  async function run<Name extends keyof Jobs>(name: Name, task: Jobs[Name]['task'], signal?: AbortSignal) {
    const abort = new AbortController()
    const onAbort = () => abort.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    // Not unref'd: threads are, and a job under way must keep the process.
    const timer = setTimeout(() => abort.abort(new PoolBusy(`No answer in ${patienceMs} ms.`)), patienceMs)
    try {
      return await runAdmitted(name, task, abort.signal)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async function runAdmitted<Name extends keyof Jobs>(name: Name, task: Jobs[Name]['task'], signal: AbortSignal) {
    await queue.begin(signal)
    try {
      if (closed) throw new Error('The pool is closed.')
      const started = await threads.get()
      // Closed while the threads were loading.
      if (closed) throw new Error('The pool is closed.')
      // What the thread's export of this name gives, unchecked.
      const result = (await started.run(task, { name, signal })) as Jobs[Name]['result']
      onTrouble(undefined)
      return result
    } finally {
      queue.end()
    }
  }

  /** Running jobs reject, and so do the waiting ones as these end. */
  async function close(): Promise<void> {
    closed = true
    await (await threads.settled())?.destroy()
  }

  return { run, close }
}

/** Loaded late, so that the start of the server does not pay for it. */
async function startThreads(maxThreads: number, onError: (error: unknown) => void): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  const filename = installed('dist/worker.cjs')
  const threads = new Piscina({ filename, minThreads: 0, maxThreads, idleTimeout: idleTimeoutMs })
  threads.on('error', onError)
  return threads
}
