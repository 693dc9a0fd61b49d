// Settings of what survives a restart.
import { Type } from '../typebox.ts'
import { path } from './annotations.ts'

export const persistence = Type.Object(
  {
    enabled: Type.Boolean({
      default: false,
      description:
        'Whether leases, kept places in queues, the history of the files and the bytes of their versions survive a restart. The background server and the service do so unless this says false.'
    }),
    state_file: Type.Unsafe<string | null>({
      ...path(),
      type: ['string', 'null'],
      minLength: 1,
      default: null,
      description:
        'Path of the state, outside the roots; null is a place in the data folder of this user, one for each tree.'
    }),
    write_debounce_seconds: Type.Number({
      minimum: 0,
      maximum: 60,
      default: 1,
      description:
        'How long changes are gathered before they are written. Leases granted and ended, and new versions up to 1 MiB, are written at once.'
    }),
    ttl_multiplier: Type.Number({
      minimum: 1,
      maximum: 100,
      default: 2,
      description: 'Over a restart, a place kept in a queue is kept longer by this factor.'
    }),
    max_base_bytes: Type.Integer({
      minimum: 0,
      default: 1073741824,
      description: 'Disk space for the bytes of versions, compressed; the least recently used are dropped first.'
    }),
    max_base_age_days: Type.Number({
      minimum: 0,
      maximum: 3650,
      default: 30,
      description: 'How long the bytes of a version are kept without a request for them.'
    })
  },
  { additionalProperties: false, default: {}, description: 'What survives a restart.' }
)
