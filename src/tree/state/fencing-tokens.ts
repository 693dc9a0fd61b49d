// Fencing tokens: numbers that only grow, also across restarts and kill -9. Durable before a lease gets one, without a write for anything else.
import { OperationError } from '../../errors.ts'
import type { FencingTokens } from '../../engine/locks/tokens.ts'
import type { StateDirectory } from './state-directory.ts'
import { messageOf } from '../../support/error-message.ts'
import { parseFields } from '../../support/json-fields.ts'

interface FencingTokensOptions {
  /** Called with what a user should look at: the tokens go on growing, but a file was not as it should be. */
  readonly onWarning: (message: string) => void
}

const fileName = 'fencing-tokens.json'
/** Tokens that one write to the disk covers. */
const blockSize = 1_000_000
/** No file of ours comes near. Above it enough numbers are left that a double holds exactly. */
const maxReserved = 2 ** 52

/** `next` touches the disk at its very first call only. */
export function createFencingTokens(
  stateDirectory: StateDirectory,
  { onWarning }: FencingTokensOptions
): FencingTokens {
  let isLoaded = false
  /** The last token given. */
  let last = 0
  /** Upper bound, as last known on disk, of every token that any process has given to a lease. */
  let reserved = 0

  function load(): void {
    if (isLoaded) return
    reserved = readReserved()
    last = reserved
    isLoaded = true
  }

  function reserve(): void {
    try {
      const found = readReserved()
      // Another process on this tree has reserved since: the tokens below are its own.
      if (found > reserved) last = Math.max(last, found)
      const bound = last + blockSize
      stateDirectory.write(fileName, `${JSON.stringify({ version: 1, reserved: bound })}\n`, { isDurable: true })
      reserved = bound
    } catch (error) {
      const message = `No lease was granted, because its fencing token cannot be recorded: ${messageOf(error)}. Make ${stateDirectory.path} writable for the server, then try again.`
      throw new OperationError('WRITE_ERROR', message, { cause: error })
    }
  }

  function readReserved(): number {
    let text: string | undefined
    try {
      text = stateDirectory.read(fileName)
    } catch (error) {
      return startAnew(messageOf(error))
    }
    // There was no file, or it was removed with the record of all tokens given.
    if (text === undefined) return aboveAnyCount()
    const { version, reserved } = parseFields(text) ?? {}
    const isBound = Number.isSafeInteger(reserved) && Number(reserved) >= 0 && Number(reserved) <= maxReserved
    if (version === 1 && isBound) return Number(reserved)
    return startAnew('this version does not write such content', isBound ? Number(reserved) : 0)
  }

  /** The file is not reliable: starts above any token that may have been given, and keeps the file for a user to look at. */
  function startAnew(reason: string, least = 0): number {
    const start = Math.max(aboveAnyCount(), least)
    const aside = `${fileName}.broken-${Date.now()}`
    let outcome = `it is now ${aside}`
    try {
      stateDirectory.rename(fileName, aside)
    } catch (error) {
      // Reported once, at the start. After that the refusal of a lease, which needs the file, reports it.
      if (isLoaded) throw error
      outcome = `it could not be set aside (${messageOf(error)})`
    }
    onWarning(
      `the fencing tokens in ${stateDirectory.path}/${fileName} cannot be used: ${reason}; ${outcome}. Tokens go on from ${start}, above every earlier one.`
    )
    return start
  }

  return {
    next() {
      load()
      last += 1
      return last
    },
    nextForLease() {
      load()
      if (last >= reserved) reserve()
      last += 1
      return last
    }
  }
}

/**
 * Larger than every token counted from 0 or from an earlier such start: passing it takes a block used up, or a process
 * started, every second since. Exact in a double until the year 2255.
 */
function aboveAnyCount(): number {
  return Date.now() * 1000
}
