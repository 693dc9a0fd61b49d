// GET /activity: which agents were seen, where they met, and which waits were refused: what the board shows beside the locks.
import { Path, Timestamp } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** The querystring of GET /activity. */
export const ActivityQuery = inputObject({
  minutes: Type.Integer({
    minimum: 1,
    maximum: 1440,
    default: 60,
    description: 'How far back the files go where agents met; a day at most.'
  }),
  limit: Type.Integer({ minimum: 0, maximum: 10_000, default: 1000, description: 'Agents, and files, listed at most.' })
})

const count = (description: string) => Type.Integer({ minimum: 0, description })

/** Answer of GET /activity. */
export const Activity = Type.Object(
  {
    agents: Type.Array(
      Type.Object(
        {
          agent_id: Type.String({ description: 'Its name.' }),
          last_seen: Timestamp,
          operation: Type.String({ description: 'Its last call.' }),
          path: Type.Optional(
            Type.String({ description: 'What that was about, as the agent spelt it; cut if it is long.' })
          )
        },
        { title: 'SeenAgent', description: 'An agent, and its last call.' }
      ),
      { description: 'The latest first.' }
    ),
    files: Type.Array(
      Type.Object(
        {
          path: Path,
          contentions: count('Changes that came too late.'),
          merges: count('Late changes that were merged.'),
          waits: count('Requests that had to wait, and wait no longer.'),
          waited_seconds: Type.Number({ minimum: 0, description: 'How long they waited, in all.' }),
          strip: Type.Array(count('Contentions, merges and waits in one slice.'), {
            description: 'The same in slices of strip_seconds, the oldest first; the last ends now.'
          })
        },
        { title: 'HotFile', description: 'A file at which agents met.' }
      ),
      { description: 'The hottest first.' }
    ),
    strip_seconds: Type.Integer({ minimum: 1, description: 'Length of a slice.' }),
    refused_circles: Type.Array(
      Type.Object(
        {
          at: Timestamp,
          waits: Type.Array(
            Type.Object(
              {
                agent_id: Type.String({ description: 'Who would have waited.' }),
                waits_for: Type.String({ description: 'For which file.' })
              },
              { title: 'CircleStep', description: 'One agent of the circle.' }
            ),
            { description: 'The refused request first.' }
          )
        },
        { title: 'RefusedCircle', description: 'A wait that would never have ended (DEADLOCK).' }
      ),
      { description: 'The last of them, the latest first.' }
    ),
    long_wait_seconds: Type.Number({ minimum: 0, description: 'The setting locks.long_wait_seconds.' }),
    timestamp: Timestamp
  },
  { title: 'Activity', description: 'Who was there lately, and where agents met.' }
)
export type Activity = Static<typeof Activity>

/** What the process knows that serves the tree; the rest is of the process that was asked. */
export type TreeActivity = Omit<Activity, 'long_wait_seconds'>
