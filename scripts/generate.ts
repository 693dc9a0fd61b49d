// Writes what is derived from the sources and committed: the OpenAPI document, the tables of errors and settings, the page of
// the service's objects.
// With --check it only checks whether they are up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { errorTable } from '../schemas/errors.ts'
import { installed } from '../src/support/installation.ts'
import { createPublishedSchema } from '../src/config/published-schema.ts'
import { operations } from '../src/operations/index.ts'
import { createOpenApi } from './openapi/document.ts'
import { version } from '../src/support/installation.ts'
import { describeSettings } from './configuration-page.ts'
import { describePlugins } from './plugins-page.ts'
import { recordExamples } from './openapi/recorder.ts'
import { wrap } from './wrap.ts'

const openapi = createOpenApi({ operations, version, calls: await recordExamples() })

const documents: Record<string, string> = {
  'openapi/openapi.json': `${JSON.stringify(openapi, null, 2)}\n`,
  'openapi/config.schema.json': `${JSON.stringify(createPublishedSchema(), null, 2)}\n`,
  'docs/errors.md': describeErrors(),
  'docs/configuration.md': describeSettings(),
  'plugins/README.md': describePlugins()
}

for (const [name, text] of Object.entries(documents)) {
  const path = installed(name)
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text)
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${name} is out of date: run npm run generate and commit it.`)
    process.exitCode = 1
  }
}

function describeErrors(): string {
  const entries = Object.entries(errorTable).map(([code, { httpStatus, retryable, meaning }]) =>
    wrap(`- \`${code}\` (${httpStatus}${retryable ? ', again' : ''}): ${meaning}`, '  ')
  )
  return [
    '# Errors',
    '',
    'After this page you know what each error code means, its HTTP status, and whether to try again: "again" marks codes',
    'for which the same call can succeed later without a change by the caller. It is made from `schemas/errors.ts` by',
    '`npm run generate`.',
    '',
    ...entries,
    ''
  ].join('\n')
}
