// Settings of what hooks do before shell commands.
import { Type } from '../typebox.ts'

export const hooks = Type.Object(
  {
    git: Type.String({
      enum: ['refuse', 'keep', 'off'],
      default: 'refuse',
      description:
        'What happens before a shell command that can discard uncommitted work: "refuse" keeps the bytes of what differs from HEAD, and refuses the command if it would discard lines of others; "keep" only keeps the bytes; "off" does nothing.'
    }),
    keep_files: Type.Integer({
      minimum: 0,
      maximum: 200_000,
      default: 5000,
      description: 'Files that differ from HEAD whose bytes are kept at once; those beyond are not.'
    }),
    keep_bytes: Type.Integer({
      minimum: 0,
      maximum: 4_294_967_296,
      default: 67_108_864,
      description: 'Bytes of files that differ from HEAD that are read and kept at once.'
    }),
    look_ms: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 5000,
      description:
        'How long a shell command waits at most, in milliseconds, for Git to say what differs from HEAD, if its line does not say what it writes. What it does to files that were not in use can then be taken back. 0: it does not wait.'
    })
  },
  { additionalProperties: false, default: {}, description: 'What hooks do before shell commands.' }
)
