// Writes the functions that check inputs and settings, by Ajv's own generator: src/support/validation/validator.ts loads them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'

const options = {
  useDefaults: true,
  verbose: true,
  allowUnionTypes: true,
  // A day means its beginning in UTC, a time without a zone that of the server.
  formats: {
    'date-time':
      /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/i
  },
  code: { source: true, optimize: 2 }
}
/** Annotations of schemas/settings, which ask nothing of a value. */
const annotations = ['x-live', 'x-path', 'x-any-case', 'x-aliases']

/**
 * @param folder where the sources have been compiled to
 * @returns two modules: those that end at the first fault, and those that find all, which only bad input needs
 */
export async function compileValidators(folder) {
  const load = (path) => import(pathToFileURL(join(folder, path)).href)
  // Each makes those that it needs.
  await Promise.all(
    ['operations/index', 'config/check', 'transports/query-check'].map((path) => load(`src/${path}.js`))
  )
  const { validatedSchemas } = await load('src/support/validation/validator.js')

  const writeAll = (piece, more) => {
    const entries = [...validatedSchemas].map(
      ([name, schema]) => `${JSON.stringify(name)}: () => load(${write(schema, more)})`
    )
    const path = join(folder, `src/support/validation/${piece}.js`)
    writeFileSync(path, `${preamble}\nexport const compiled = {\n${entries.join(',\n')}\n}\n`)
    return path
  }
  return { checks: writeAll('checks', {}), faults: writeAll('faults', { allErrors: true }) }
}

function write(schema, more) {
  const ajv = new Ajv({ ...options, ...more }).addVocabulary(annotations)
  const code = standalone.default(ajv, ajv.compile(schema))
  return `(module) => {${code.replaceAll(/= require\(("ajv\/[^"]+")\)/g, '= runtime[$1]')}}`
}

/** What the written code imports. */
const preamble = `import equal from 'ajv/dist/runtime/equal.js'
import ucs2length from 'ajv/dist/runtime/ucs2length.js'

const runtime = {
  // Bundlers and Node differ in what the default of these modules is.
  'ajv/dist/runtime/equal': { default: equal.default ?? equal },
  'ajv/dist/runtime/ucs2length': { default: ucs2length.default ?? ucs2length }
}

function load(define) {
  const module = { exports: {} }
  define(module)
  return module.exports
}
`
