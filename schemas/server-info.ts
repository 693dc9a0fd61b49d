// get_server_info: the server, its project, and its capabilities (DUAL 3.2).
import { AgentId, StatusOk, Timestamp, treeRole } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const ServerInfoInput = inputObject({ agent_id: AgentId })
export type ServerInfoInput = Static<typeof ServerInfoInput>

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Git = Type.Object(
  {
    remote: orNull(
      'Address of the remote repository without credentials, of origin if there is one; null without a remote.'
    ),
    branch: orNull('null if no branch is checked out.'),
    commit: orNull('Full hash of the commit that is checked out; null in an empty repository.'),
    commit_short: orNull('The same, abbreviated.'),
    status: Type.Union([Type.String({ enum: ['clean', 'dirty'] }), Type.Null()], {
      description:
        '"dirty" if anything differs from the commit, untracked files included; null if it took too long to find out.'
    })
  },
  { title: 'GitInfo', description: 'The repository that the root belongs to.' }
)

const can = (description: string) => Type.Boolean({ description })

export const ServerInfoOutput = Type.Object(
  {
    status: StatusOk,
    server: Type.Object(
      {
        version: Type.String({ description: 'Of the server.' }),
        transport: Type.String({ enum: ['http', 'stdio', 'dual'], description: 'How this process serves.' }),
        uptime_seconds: Type.Number({ minimum: 0, description: 'Since the start of this process.' }),
        pid: Type.Integer({ minimum: 1, description: 'Of this process.' }),
        started_at: Timestamp,
        url: orNull('Where this process answers MCP over HTTP; null if it does not listen.'),
        ...treeRole
      },
      { title: 'ServerFacts', description: 'The process that the caller is connected to.' }
    ),
    project: Type.Union(
      [
        Type.Object(
          {
            name: Type.String({ description: 'Name of the remote repository, otherwise of the root.' }),
            root: Type.String({ description: 'The first root, absolute.' }),
            state_path: Type.String({
              description: "The server's own folder; other programs find the server by it."
            }),
            git: Type.Union([Git, Type.Null()], {
              description: 'null if the root belongs to no Git repository, or Git cannot be run.'
            })
          },
          { title: 'ProjectInfo', description: 'What the server works on.' }
        ),
        Type.Null()
      ],
      { description: 'The project; null if the server has no root.' }
    ),
    capabilities: Type.Object(
      {
        tools_available: Type.Integer({ minimum: 0, description: 'Tools offered over MCP (mcp.tools).' }),
        leases: can('Files can be reserved over several calls.'),
        persistence: can('Versions, queues and leases survive a restart.'),
        file_watchers: can('Changes made outside the server are noticed when they happen, not at the next call.'),
        merging: can('Changes that do not touch each other are merged.')
      },
      { title: 'Capabilities', description: 'What the server can do.' }
    ),
    timestamp: Timestamp
  },
  { title: 'ServerInfoOutput', description: 'The server, its project and its capabilities.' }
)
export type ServerInfoOutput = Static<typeof ServerInfoOutput>
