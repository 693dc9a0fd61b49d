// Checks server.json by the schema that the MCP registry publishes, which it names itself; and by the registry's further rules for a package of npm.
// usage: node scripts/check-registry-entry.mjs <server.json> [schema file; else the schema is downloaded]
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'

const text = (more = {}) => ({ type: 'string', minLength: 1, ...more })
const object = (required, properties) => ({ type: 'object', required, properties, additionalProperties: false })
const argument = object(['type', 'name'], {
  type: { const: 'named' },
  name: text({ pattern: '^--' }),
  description: text(),
  format: { enum: ['string', 'number', 'boolean', 'filepath'] },
  isRequired: { type: 'boolean' }
})
const npmPackage = object(['registryType', 'identifier', 'version', 'transport'], {
  registryType: { const: 'npm' },
  identifier: text(),
  version: text({ not: { pattern: '^latest$|[\\^~*<>x]' } }),
  transport: object(['type'], { type: { const: 'stdio' } }),
  packageArguments: { type: 'array', items: argument }
})
const schema = object(['$schema', 'name', 'description', 'version', 'packages'], {
  $schema: text(),
  name: text({ minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' }),
  title: text({ maxLength: 100 }),
  description: text({ maxLength: 100 }),
  version: text({ maxLength: 255 }),
  websiteUrl: text({ pattern: '^https://' }),
  repository: object(['url', 'source'], { url: text({ pattern: '^https://' }), source: text() }),
  packages: { type: 'array', minItems: 1, items: npmPackage }
})

const [, , entryPath, schemaPath] = process.argv
const entry = JSON.parse(readFileSync(entryPath, 'utf8'))
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
// The published schema has annotations, such as examples, and formats that Ajv does not know by itself.
const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false })
assert.ok(ajv.validate(schema, entry), ajv.errorsText())
const published = await publishedSchema()
if (published !== undefined) {
  assert.equal(published.$id, entry.$schema, 'the schema is the one that the entry names')
  assert.ok(ajv.validate(published, entry), ajv.errorsText())
}
assert.equal(entry.name, manifest.mcpName, 'the registry compares the name with mcpName in package.json')
assert.deepEqual(
  [entry.version, entry.packages[0].version, entry.packages[0].identifier],
  [manifest.version, manifest.version, manifest.name]
)
const by =
  published === undefined
    ? 'as its rules for npm want it; its schema could not be downloaded'
    : `valid by ${published.$id}`
process.stdout.write(`${entry.name} ${entry.version}: ${by}\n`)

/** Undefined without a network. */
async function publishedSchema() {
  if (schemaPath !== undefined) return JSON.parse(readFileSync(schemaPath, 'utf8'))
  let response
  try {
    response = await fetch(entry.$schema, { signal: AbortSignal.timeout(20_000) })
  } catch {
    return undefined
  }
  assert.equal(response.status, 200, `${entry.$schema} is not there`)
  return await response.json()
}
