// Checks server.json by the rules of the MCP registry (schema of 2025-12-11) that concern a package of npm.
// usage: node scripts/check-registry-entry.mjs <server.json>
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

const entry = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const ajv = new Ajv({ allErrors: true })
assert.ok(ajv.validate(schema, entry), ajv.errorsText())
assert.equal(entry.name, manifest.mcpName, 'the registry compares the name with mcpName in package.json')
assert.deepEqual(
  [entry.version, entry.packages[0].version, entry.packages[0].identifier],
  [manifest.version, manifest.version, manifest.name]
)
process.stdout.write(`${entry.name} ${entry.version}: as the registry wants it\n`)
