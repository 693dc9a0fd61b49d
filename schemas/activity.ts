// GET /activity: which agents were seen, where they met, and which waits were refused: what the board shows beside the locks.
import { agentText, Path, Timestamp } from './common.ts'
import { lateFacts } from './events.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** The querystring of GET /activity. */
export const ActivityQuery = inputObject({
  minutes: Type.Integer({
    minimum: 1,
    maximum: 1440,
    default: 60,
    description: 'How far back the files go where agents met; a day at most.'
  }),
  limit: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 1000,
    description: 'Agents, and files, listed at most.'
  }),
  agent_id: Type.Optional(
    Type.String({ ...agentText, description: 'Adds what is known of this agent: its program, counts, last calls.' })
  ),
  by: Type.Optional(
    Type.String({
      enum: ['agent', 'folder'],
      description: 'Adds rates: how much happened when, by agent or by folder.'
    })
  ),
  with: Type.Optional(Type.String({ enum: ['late_changes'], description: 'Adds the changes that came too late.' }))
})
export type ActivityQuery = Static<typeof ActivityQuery>

const count = (description: string) => Type.Integer({ minimum: 0, description })

const slices = (description: string) =>
  Type.Array(count(description), { description: `${description} In slices of strip_seconds, the oldest first.` })

const rates = {
  changes: slices('Changes of files, by anyone.'),
  contentions: slices('Changes that came too late.'),
  merges: slices('Late changes that were merged.'),
  waits: slices('Requests that had to wait, and wait no longer.')
}

export const Rates = Type.Object(
  {
    from: Timestamp,
    to: Timestamp,
    groups: Type.Array(
      Type.Object(
        {
          name: Type.String({
            description:
              'The agent, "external" for changes made outside the server, empty for callers without a name; or the folder, relative to the root, empty for the root itself.'
          }),
          ...rates
        },
        { title: 'RateGroup', description: 'One agent, or one folder with all that is below it.' }
      ),
      { description: 'The busiest first; six at most.' }
    ),
    rest: Type.Optional(Type.Object(rates, { title: 'RateRest', description: 'All other agents, or folders.' })),
    changes_known_since: Type.Optional(Timestamp),
    meetings_known_since: Timestamp
  },
  {
    title: 'Rates',
    description:
      'How much happened when: the first slice begins at from, and the last ends at to, with the present minute. Changes are read from the log, and may be incomplete before changes_known_since; contentions, merges and waits are counted since meetings_known_since.'
  }
)
export type Rates = Static<typeof Rates>

export const AgentFacts = Type.Object(
  {
    agent_id: Type.String({ description: 'Its name.' }),
    first_seen: Timestamp,
    transport: Type.String({ description: 'How its last call came: rest, mcp, stdio or hooks.' }),
    client: Type.Optional(
      Type.String({ description: 'Its program with its version, as that names itself; of hooks the harness.' })
    ),
    counts: Type.Object(
      {
        calls: count('Calls that have ended.'),
        reads: count('Those of them that only read.'),
        changes: count('Changes of files that the log has by its name, by commands and native tools, too.'),
        contentions: count('Changes that came too late.'),
        merges: count('Late changes that were merged.'),
        refusals: count('Calls that failed otherwise, and commands that hooks refused.')
      },
      { title: 'AgentCounts', description: 'Since first_seen.' }
    ),
    calls: Type.Array(
      Type.Object(
        {
          at: Timestamp,
          operation: Type.String({ description: 'What it called; of hooks, what they report.' }),
          path: Type.Optional(Type.String({ description: 'What that was about, as the agent spelt it.' })),
          outcome: Type.String({ description: 'ok, merged, contention, refused (by hooks), or the code of an error.' })
        },
        { title: 'EndedCall', description: 'One call, and when it ended.' }
      ),
      { description: 'Its last ten calls, the latest first.' }
    )
  },
  { title: 'AgentFacts', description: 'One agent, since it was first seen; agents not seen for longest are forgotten.' }
)
export type AgentFacts = Static<typeof AgentFacts>

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
    rates: Type.Optional(Rates),
    agent: Type.Optional(AgentFacts),
    late_changes: Type.Optional(
      Type.Array(
        Type.Object({ at: Timestamp, ...lateFacts }, { title: 'LateChange', description: 'As its event says it.' }),
        { description: 'Changes that came too late: the last 300, the latest first.' }
      )
    ),
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
    rivals: Type.Array(
      Type.Object(
        {
          path: Path,
          late_agent_id: Type.String({ description: 'Whose change came too late the last time.' }),
          agent_id: Type.String({ description: 'Who had made the version that it met; "external" as elsewhere.' }),
          times: Type.Array(Timestamp, {
            description: 'When one of them came too late; the last ten, the latest last.'
          })
        },
        { title: 'Rivals', description: 'Two agents of which one came too late for a change of the other.' }
      ),
      { description: 'Pairs that met more than once at one file and were not merged, the latest first; 50 at most.' }
    ),
    refused_commands: Type.Array(
      Type.Object(
        {
          at: Timestamp,
          agent_id: Type.String({ description: 'Who wanted to run it.' }),
          command: Type.String({ description: 'Its first line, cut if it is long, without secrets.' }),
          files: Type.Array(Type.String(), { description: 'Files whose lines it would discard; ten at most.' }),
          further_files: count('How many more.'),
          others: Type.Array(Type.String(), { description: 'Whose uncommitted lines these are; ten at most.' })
        },
        {
          title: 'RefusedCommand',
          description: 'A shell command that hooks refused, since it would discard the work of others.'
        }
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
