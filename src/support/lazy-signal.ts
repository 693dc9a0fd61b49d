// A signal that is made only if something listens to it. Most calls end before anything waits, and one of Node costs as much as two system calls.

type Listening = Parameters<AbortSignal['addEventListener']>

/** As AbortController. */
export class LazyAbort {
  #controller: AbortController | undefined
  readonly signal: AbortSignal = new LazySignal(
    () => this.#controller?.signal,
    () => this.#make().signal
  )

  abort(reason?: unknown): void {
    this.#make().abort(reason)
  }

  #make(): AbortController {
    return (this.#controller ??= new AbortController())
  }
}

/** As AbortSignal.any, which takes no others than those of Node. */
export function anySignal(...signals: readonly AbortSignal[]): AbortSignal {
  return AbortSignal.any(signals.map((signal) => (signal instanceof LazySignal ? signal.make() : signal)))
}

class LazySignal implements AbortSignal {
  readonly #made: () => AbortSignal | undefined
  /** The signal of Node. */
  readonly make: () => AbortSignal

  constructor(made: () => AbortSignal | undefined, make: () => AbortSignal) {
    this.#made = made
    this.make = make
  }

  get aborted(): boolean {
    return this.#made()?.aborted === true
  }

  get reason(): unknown {
    return this.#made()?.reason
  }

  throwIfAborted(): void {
    this.#made()?.throwIfAborted()
  }

  addEventListener(...listening: Listening): void {
    this.make().addEventListener(...listening)
  }

  removeEventListener(...listening: Listening): void {
    this.#made()?.removeEventListener(...listening)
  }

  dispatchEvent(event: Event): boolean {
    return this.make().dispatchEvent(event)
  }

  get onabort(): AbortSignal['onabort'] {
    return this.#made()?.onabort ?? null
  }

  set onabort(listener: AbortSignal['onabort']) {
    this.make().onabort = listener
  }
}
