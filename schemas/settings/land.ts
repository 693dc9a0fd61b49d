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
    })
  },
  { additionalProperties: false, default: {}, description: 'How changes of one agent are landed.' }
)
