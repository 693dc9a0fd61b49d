// Settings of the watcher: how changes by other programs are noticed before the next look.
import { Type } from '../typebox.ts'

export const watcher = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description:
        'Whether the folders of files in use are watched for changes by other programs. Without it, a change is noticed at the next call on its file, and not reported before.'
    }),
    debounce_ms: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 100,
      description:
        'How long a file must stay unchanged before it is examined, in milliseconds: an editor saves in several steps. After ten times as long it is examined anyway.'
    }),
    rescan_seconds: Type.Number({
      minimum: 0,
      maximum: 86_400,
      default: 30,
      description:
        'How often all files in use are compared with their known versions, since the system drops notices under load. 0 is never. If not all folders can be watched, every 5 seconds at least.'
    }),
    bulk_files: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 100,
      description:
        'More files than this changed within a second, by a checkout or a formatter, are one change in bulk: reported once, not file by file.'
    })
  },
  { additionalProperties: false, default: {}, description: 'How changes by other programs are noticed.' }
)
