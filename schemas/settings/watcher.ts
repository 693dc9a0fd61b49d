// Settings of the watcher. Read and checked already, so that a file written for the next version is a file for this one.
import { Type } from '../typebox.ts'

const notYet = 'Without effect in this version.'

export const watcher = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: `Whether the file system is watched for changes by other programs, which are noticed at the next call without it, too. ${notYet}`
    }),
    debounce_ms: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 100,
      description: `How long events of one file are gathered. ${notYet}`
    })
  },
  { additionalProperties: false, default: {}, description: 'Notice of changes by other programs: not yet.' }
)
