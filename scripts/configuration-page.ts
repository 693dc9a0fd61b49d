// The page about settings: its tables come from the schema and from the table of flags.
import { Config } from '../schemas/config.ts'
import { serveFlags } from '../src/program/cli/serve-flags.ts'
import { describeFixedLimits } from './fixed-limits.ts'
import { wrap } from './wrap.ts'
import { expectationOf, fields, type Field } from '../src/config/fields.ts'

const introduction = `# Settings

After this page you can set every limit and place of the server, and know which value counts. It is made from
\`schemas/settings/\` by \`npm run generate\`.

A setting comes from the first of these that has it:

1. a flag,
2. the environment: \`crud.max_timeout\` is \`ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT\`; numbers, null and lists are written as
   JSON, booleans as \`true\`, \`1\`, \`yes\`, \`on\` or \`false\`, \`0\`, \`no\`, \`off\` in any case,
3. the configuration file,
4. its default.

\`async-crud-mcp config show\` prints every setting and which of these it comes from; with \`--json\` for scripts.

## The file

It is the file of \`--config <file>\`, otherwise of \`ASYNC_CRUD_MCP_CONFIG\`, otherwise \`config.json\` in the configuration
folder of this user, which \`async-crud-mcp config path\` prints. A named file must exist, the other one need not.
\`ASYNC_CRUD_MCP_CONFIG=\` (empty) means that no file is read. No file inside a root is used: anyone who may change the
tree could change it.

The file is JSON, with the sections below. Names that begin with \`_\` or \`$\` are comments. Paths are absolute, or begin
with \`~/\`. A name that does not exist is an error, as is a value out of bounds: one line with file, line and column,
what was expected, and the value. A token is never shown.

A value that no call could work with is also an error, such as an encoding that does not exist, a token that HTTP cannot
carry, or \`crud.default_timeout\` above \`crud.max_timeout\`. A default that is above a limit that you set follows the
limit. The server reports at its start each variable that begins with \`ASYNC_CRUD_MCP_\`, in upper or lower case, and
is not known.

- \`config init [--dir <folder>] [--force]\` writes a file that only this user can read: the roots as given, and every
  other setting as a comment with its default and its meaning. Remove the \`_\` before a name to choose a setting.
- \`config show [--json]\` prints the settings and where they come from. It takes the flags of the server.
- \`config edit\` opens the file in \`$VISUAL\` or \`$EDITOR\` and checks it afterwards.
- \`config validate [file] [--json]\` prints every fault; exit code 0 if there is none, otherwise 1.
- \`config path [--json]\` prints which file is read.
- \`config schema\` prints the JSON Schema, which is also in \`openapi/config.schema.json\`.

All but \`schema\` take \`--config <file>\`.

## Changes while it runs

A running server checks its file every \`daemon.config_poll_seconds\` and reads it after it has stayed the same for
\`daemon.config_debounce_seconds\`. Settings marked "live" take effect at once; for the others the log says that they need
a restart. A file with a fault changes nothing; the log says what is wrong with it. Flags and the environment come first
after a change, too. If several processes serve one tree, the sections \`crud\` and \`locks\` are those of the process that
runs the engine.

## Flags
`

export function describeSettings(): string {
  const flags = serveFlags.map(
    ({ flag, setting, bounds, parse }) =>
      `| \`${flag}\` | ${setting} | ${bounds === undefined ? '' : bounds.join('-')}${bounds && parse ? ' megabytes' : ''}${setting === 'crud.base_directories' ? 'repeatable' : ''} |`
  )
  return [
    introduction,
    '| flag | setting | takes |',
    '| --- | --- | --- |',
    ...flags,
    '| `--config <file>` | | the configuration file |',
    '',
    ...Object.entries(Config.properties).flatMap(([section, { description }]) => [
      `## ${section}`,
      '',
      description ?? '',
      '',
      ...[...fields.values()].filter((field) => field.section === section).map(describeField),
      ''
    ]),
    '## Limits that are fixed',
    '',
    'These are constants in `src`, for cases that no tree is expected to reach, and for texts that people read. If one is in',
    'your way, please open an issue.',
    '',
    ...describeFixedLimits(),
    ''
  ].join('\n')
}

function describeField({ name, schema }: Field): string {
  const live = schema['x-live'] === true ? ', live' : ''
  const facts = `- \`${name}\`: default \`${JSON.stringify(schema.default)}\`, ${expectationOf(schema)}${live}.`
  return wrap(`${facts} ${schema.description}`, '  ')
}
