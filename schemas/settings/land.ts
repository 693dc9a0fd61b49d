// Settings of landing: what the command line does with a commit before it is made.
import { Type } from '../typebox.ts'

export const land = Type.Object(
  {
    test: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description:
        'The command, word by word, that async-crud-mcp land runs on the files of the commit if it is called without one. If it fails, nothing is landed.'
    }),
    share: Type.Array(Type.String({ minLength: 1 }), {
      default: ['node_modules'],
      description:
        'Names of ignored folders that a test needs. They are copied on write where the file system can do that, else linked.'
    }),
    co_author: Type.String({
      default: '',
      maxLength: 200,
      description:
        'A trailer Co-authored-by for each agent whose changes a commit has, with {agent} for its name, such as "{agent} <{agent}@agents.example.org>". Empty: none.'
    }),
    run: Type.Boolean({
      default: false,
      description:
        'Whether land over REST and MCP runs what the command line runs: filters, hooks and signing of Git, and land.test, all with the rights of the server. Agents can write what hooks and tests run.'
    })
  },
  { additionalProperties: false, default: {}, description: 'How changes of one agent are landed.' }
)
