// Settings of what MCP clients, and their models, are shown.
import { toolSets } from '../tool-sets.ts'
import { Type } from '../typebox.ts'

export const mcp = Type.Object(
  {
    tools: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      default: ['all'],
      examples: [['core', 'locks', 'async_diff']],
      description: `The tools that are listed and can be called over MCP: sets (${Object.keys(toolSets).join(', ')}) and names of tools. "all" is without "files" (${toolSets['files']?.join(', ')}), which do for one folder what the others do for a tree. "beside" is what native tools lack, for clients with hooks. A client over HTTP can choose for itself, by its address: /mcp?tools=beside. REST and JSON-RPC have every operation.`
    }),
    output_schemas: Type.Boolean({
      default: false,
      description:
        'Whether tools are listed with the schemas of their answers, ten times the size of the rest. A client can ask for them with "async-crud-mcp/output_schemas": true in the _meta of tools/list.'
    }),
    progress_seconds: Type.Number({
      minimum: 0,
      maximum: 60,
      default: 0.25,
      description:
        'How often a call tells a client that asked for progress how far it is, at most. Of work that ends sooner, nothing is told.'
    }),
    roots_seconds: Type.Number({
      minimum: 0,
      maximum: 60,
      default: 2,
      description:
        'Over standard input, if no folder was named: how long a client that has roots gets to say them; they are then served. 0 does not ask for them.'
    }),
    answer_chars: Type.Integer({
      minimum: 4000,
      maximum: 500000,
      default: 40000,
      description:
        'Characters of one answer over MCP at most, as JSON. Clients hide longer ones from their model (Claude Code: above 50,000). Of a file or a listing that is longer, an answer has the beginning and says how to go on. Notices come on top.'
    }),
    listing: Type.String({
      enum: ['compact', 'full'],
      default: 'compact',
      description:
        'How async_list answers over MCP: "compact" as lines grouped by folder, behind one line of JSON, without structured content and, unless asked with ignore: false, without what .gitignore excludes; "full" as over REST.'
    }),
    fields: Type.String({
      enum: ['needed', 'all'],
      default: 'needed',
      description:
        'Which members an answer over MCP has: "needed" those that a model needs, without what its call has said (path, offset, limit, encoding, the version expected), without times and sizes of a change, and without details that the message of an error has in words; "all" as over REST.'
    }),
    hashes: Type.String({
      enum: ['short', 'full'],
      default: 'short',
      description:
        'How an answer over MCP gives the hash of a version: "short" with its first 16 digits, which every input takes for it, "full" with all 64, as REST does.'
    }),
    text: Type.String({
      enum: ['auto', 'json', 'plain'],
      default: 'auto',
      description:
        'How an answer over MCP carries the content of a file that was read: "json" as a member of its JSON, as structured content and as text; "plain" as the text itself, behind one line of JSON with everything else, and without structured content, and so a difference, as a unified diff. "auto" is plain for clients known to show their model such a text as it is (Claude Code, Codex, Gemini CLI, opencode), and json for all others and with output_schemas.'
    })
  },
  { additionalProperties: false, default: {}, description: 'What clients of MCP are shown.' }
)
