// The tools that a client over HTTP chooses by the address: /mcp?tools=beside, as --tools does on a command line.
import { LRUCache } from 'lru-cache'
import { faultOfTool } from '../../config/meaning.ts'
import type { Config } from '../../config/config.ts'
import { OperationError } from '../../errors.ts'
import { beginningOf } from '../../support/cut-text.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { offeredTools } from './offered-tools.ts'

/** Clients of one server make a few; what is kept stays small, whatever a client sends. */
const maxChoices = 32
const maxWords = 100
const maxWordLength = 100

/** @returns for the address of a request, what `create` makes of its tools; the same as long as they are in use */
export function createChosenTools<Made extends object>(
  settings: Config['mcp'],
  create: (operations: readonly Operation[]) => Made
): (url: string | undefined) => Made {
  const byDefault = create(offeredTools(settings))
  const made = new LRUCache<string, Made>({ max: maxChoices })

  return (url = '') => {
    const query = url.indexOf('?')
    const given = query === -1 ? [] : new URLSearchParams(url.slice(query)).getAll('tools')
    if (given.length === 0) return byDefault
    const tools = given.flatMap((words) => words.split(',')).map((word) => word.trim())
    const name = tools.join()
    const known = made.get(name)
    if (known !== undefined) return known
    refuseUnknown(tools)
    const chosen = create(offeredTools({ ...settings, tools }))
    made.set(name, chosen)
    return chosen
  }
}

function refuseUnknown(tools: readonly string[]): void {
  if (tools.length > maxWords)
    throw new OperationError('INVALID_REQUEST', `tools in the address of /mcp names more than ${maxWords} tools.`)
  for (const word of tools) {
    const fault = faultOfTool(word)
    if (fault === undefined) continue
    const shown = JSON.stringify(beginningOf(word, maxWordLength).toWellFormed())
    throw new OperationError('INVALID_REQUEST', `tools in the address of /mcp cannot be ${shown}: ${fault}.`)
  }
}
