// A value that is loaded when it is first needed. A failure is reported and not kept: the next call tries again.
export interface Lazy<Value> {
  readonly get: () => Promise<Value>
  /** Undefined while it is not loaded. */
  readonly loaded: () => Value | undefined
  /** The same, after any load in progress. */
  readonly settled: () => Promise<Value | undefined>
}

/** @param onTrouble called with the reason if it cannot be loaded, and with undefined once it is */
export function createLazy<Value>(
  load: () => Promise<Value>,
  onTrouble: (error: unknown) => void = () => {}
): Lazy<Value> {
  let loading: Promise<Value> | undefined
  let value: Value | undefined

  async function start(): Promise<Value> {
    try {
      value = await load()
      onTrouble(undefined)
      return value
    } catch (error) {
      loading = undefined
      onTrouble(error)
      throw error
    }
  }

  return {
    get: () => (loading ??= start()),
    loaded: () => value,
    settled: async () => loading?.catch(() => undefined)
  }
}

/** Says in a sentence what to do if a part of the program, or of a package, cannot be loaded. */
export function explainLoadError(what: string, error: unknown): string {
  const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
  return `${what} could not be loaded${reason}: the installation of the server is incomplete. Install it again; the next call tries again, and if that does not help, restart the server.`
}
