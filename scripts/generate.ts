// Writes what is derived from the sources and committed: the OpenAPI document, the tables of errors and settings.
// With --check it only tells whether they are up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { Config } from '../schemas/config.ts'
import { errorTable } from '../schemas/errors.ts'
import { operations } from '../src/operations/index.ts'
import { createOpenApi } from './openapi/document.ts'
import { version } from '../src/version.ts'
import { recordExamples } from './openapi/recorder.ts'

const openapi = createOpenApi({ operations, version, calls: await recordExamples() })

const documents: Record<string, string> = {
  'openapi/openapi.json': `${JSON.stringify(openapi, null, 2)}\n`,
  'docs/errors.md': describeErrors(),
  'docs/configuration.md': describeSettings()
}

for (const [name, text] of Object.entries(documents)) {
  const path = new URL(`../../${name}`, import.meta.url)
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text)
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${name} is out of date: run npm run generate and commit it.`)
    process.exitCode = 1
  }
}

function describeErrors(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { httpStatus, retryable, meaning }]) =>
      `| ${code} | ${httpStatus} | ${retryable ? 'yes' : 'no'} | ${meaning} |`
  )
  return [
    '# Errors',
    '',
    'Made from `schemas/errors.ts` by `npm run generate`. "Again" says whether the same call can succeed later without a change by the caller.',
    '',
    '| code | HTTP | again | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    ''
  ].join('\n')
}

function describeSettings(): string {
  const sections = Object.entries(Config.properties).flatMap(([section, { description, properties }]) => [
    `## ${section}`,
    '',
    description ?? '',
    '',
    '| setting | default | meaning |',
    '| --- | --- | --- |',
    ...Object.entries(properties).map(([name, field]) => {
      const choices = (field as { enum?: string[] }).enum
      const meaning = (field.description ?? '') + (choices === undefined ? '' : ` One of ${choices.join(', ')}.`)
      return `| ${section}.${name} | \`${JSON.stringify(field.default)}\` | ${meaning} |`
    }),
    ''
  ])
  return [
    '# Settings',
    '',
    'Made from `schemas/config.ts` by `npm run generate`. A flag comes before the environment, the environment before the default. In the environment `crud.max_timeout` is',
    '`ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT`; lists are written as JSON.',
    '',
    '| flag | setting |',
    '| --- | --- |',
    '| `--dir <folder>` (repeatable) | crud.base_directories |',
    '| `--transport <type>` | daemon.transport |',
    '| `--port <number>` | daemon.port; taken: exit 1. Without it: 8720, or the next free one up to 8819 |',
    '| `--host <address>` | daemon.host |',
    '| `--token <secret>` | daemon.token |',
    '| `--max-size <mb>` | crud.max_file_size_bytes, in megabytes |',
    '| `--timeout <seconds>` | crud.default_timeout |',
    '| `--log-level <level>` | daemon.log_level |',
    '',
    ...sections
  ].join('\n')
}
