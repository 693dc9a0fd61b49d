// Writes the functions that check inputs and settings, by Ajv's own generator, in the place of src/support/validation/compiled-validators.ts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'

const options = {
  useDefaults: true,
  verbose: true,
  allowUnionTypes: true,
  formats: { 'date-time': true },
  code: { source: true, optimize: 2 }
}
/** Annotations of schemas/settings, which ask nothing of a value. */
const annotations = ['x-live', 'x-path', 'x-any-case', 'x-aliases']

/** @param folder where the sources have been compiled to */
export async function compileValidators(folder) {
  const load = (path) => import(pathToFileURL(join(folder, path)).href)
  // Each makes those that it needs.
  await Promise.all(
    ['operations/index', 'config/check', 'transports/query-check'].map((path) => load(`src/${path}.js`))
  )
  const { validatedSchemas } = await load('src/support/validation/validator.js')

  const entries = [...validatedSchemas].map(([name, schema]) => {
    const check = write(schema, {})
    const findFaults = write(schema, { allErrors: true })
    return `  ${JSON.stringify(name)}: { check: () => load(${check}), findFaults: () => load(${findFaults}) }`
  })
  const path = join(folder, 'src/support/validation/compiled-validators.js')
  writeFileSync(path, `${preamble}\nexport const compiledValidators = {\n${entries.join(',\n')}\n}\n`)
  return path
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
