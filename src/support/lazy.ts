// Something that is loaded when it is first needed. A failure is told and not kept: the next need tries again.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Lazy<Value> {
  readonly get: () => Promise<Value>
  /** Undefined while it is not loaded. */
  readonly loaded: () => Value | undefined
  /** The same, once what is under way has ended. */
  readonly settled: () => Promise<Value | undefined>
}

/** @param onTrouble told why it cannot be loaded, and undefined once it is */
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

/**
 * Looks for a package before Node does: a package.json that Node has not found is missing to it until the process ends.
 * @throws Error with the code ERR_MODULE_NOT_FOUND
 */
export function assertInstalled(name: string): void {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return
    if (folder === dirname(folder)) break
  }
  throw Object.assign(new Error(`The package ${name} is not installed.`), { code: 'ERR_MODULE_NOT_FOUND' })
}

/** A part of the program, or of a package, that cannot be loaded, in a sentence that says what to do. */
export function explainLoadError(what: string, error: unknown): string {
  const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
  return `${what} could not be loaded${reason}: the installation of the server is incomplete. Install it again; the next call tries again, and if that does not help, restart the server.`
}
