// Settings of what survives a restart. Read and checked already, so that a file written for the next version is a file for this one.
import { Type } from '../typebox.ts'

const notYet = 'Without effect in this version.'

export const persistence = Type.Object(
  {
    enabled: Type.Boolean({
      default: false,
      description: `Whether leases and versions are to survive a restart. ${notYet}`
    }),
    state_file: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: 1,
      default: null,
      description: `Where to keep them; null is a place of the server's own. ${notYet}`
    }),
    write_debounce_seconds: Type.Number({
      minimum: 0,
      maximum: 60,
      default: 1,
      description: `How long changes are gathered before they are kept. ${notYet}`
    }),
    ttl_multiplier: Type.Number({
      minimum: 1,
      maximum: 100,
      default: 2,
      description: `What is kept of a waiting request outlives its timeout by this factor. ${notYet}`
    })
  },
  { additionalProperties: false, default: {}, description: 'What survives a restart: nothing yet.' }
)
