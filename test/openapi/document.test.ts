// openapi.json keeps the rules of a public linter, and its examples keep its schemas.
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { operations } from '../../src/operations/index.ts'
import { connect } from '../fixtures/clients.ts'
import {
  answerSchema,
  document,
  documentPath,
  documentText,
  type MediaType,
  type Response
} from '../fixtures/document.ts'
import { untilWaiting } from '../fixtures/locks.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const ajv = new Ajv2020({ strict: false, formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ } })
ajv.addSchema(document, 'openapi')

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** Every operation with the place where it stands in the document. */
const described = Object.entries(document.paths).flatMap(([path, item]) =>
  methods
    .flatMap((method) => (item[method] === undefined ? [] : [{ method, operation: item[method] }]))
    .map(({ method, operation }) => ({
      operation,
      pointer: `/paths/${path.replaceAll('/', '~1')}/${method}`
    }))
)

t.test('the document keeps all recommended rules of redocly, without a warning or an exception', async (t) => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: documentText, absoluteRef: documentPath, config })
  t.strictSame(
    problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`),
    []
  )
})

t.test('every example satisfies the schema beside it', async (t) => {
  let count = 0
  const check = ({ examples = {} }: MediaType, pointer: string) => {
    const validate = ajv.compile({ $ref: `openapi#${pointer}/schema` })
    for (const [name, { value }] of Object.entries(examples)) {
      t.ok(validate(value), `${pointer} ${name}: ${ajv.errorsText(validate.errors)}`)
      count += 1
    }
  }
  const checkResponses = (responses: Readonly<Record<string, Response>>, pointer: string) => {
    for (const [name, { $ref, content }] of Object.entries(responses)) {
      if ($ref !== undefined) continue
      for (const [type, media] of Object.entries(content ?? {}))
        check(media, `${pointer}/${name}/content/${type.replace('/', '~1')}`)
    }
  }
  for (const { operation, pointer } of described) {
    const { requestBody, responses } = operation
    for (const [type, media] of Object.entries(requestBody?.content ?? {}))
      check(media, `${pointer}/requestBody/content/${type.replace('/', '~1')}`)
    checkResponses(responses, `${pointer}/responses`)
  }
  checkResponses(document.components.responses, '/components/responses')
  t.ok(count >= 50, `${count} examples`)
})

t.test('every operation shows a call that succeeds, and contention where it can happen', async (t) => {
  for (const { operationId, requestBody, responses } of described.map(({ operation }) => operation)) {
    const requests = Object.values(requestBody?.content ?? {}).flatMap(({ examples = {} }) => Object.keys(examples))
    const shown = (status: string, holds: (value: unknown) => boolean = () => true) =>
      Object.values(responses[status]?.content ?? {})
        .flatMap(({ examples = {} }) => Object.entries(examples))
        .flatMap(([name, { value }]) => (holds(value) ? [name] : []))
    t.ok(shown('200').length > 0, `${operationId}: an answer; if it has none, add a call to scripts/openapi/story.ts`)
    const contentions = shown('409', (value) => (value as { status?: string }).status === 'contention')
    if (operations.some(({ name, contends }) => name === operationId && contends))
      t.ok(contentions.length > 0, `${operationId}: contention`)
    // The answer to a request bears its name.
    if (requestBody !== undefined) t.strictSame([...shown('200'), ...contentions].sort(), requests.sort(), operationId)
  }
})

t.test('what operators alone are offered says so', async (t) => {
  for (const { name, isForOperators } of operations) {
    const { description = '' } = document.paths[`/${name}`]?.post ?? {}
    t.equal(description.startsWith('For operators, over REST only: '), isForOperators === true, name)
  }
})

t.test(
  'a read behind a rename that waits for the lease of the reader is a deadlock, as the document says',
  async (t) => {
    const server = await startServer(t, makeTree(t, { a: '' }).root)
    const [ann, bob] = [await connect(t, 'rest', server.url, 'ann'), await connect(t, 'rest', server.url, 'bob')]
    await ann.call('lock_try', { filepaths: ['b'] })
    const renamed = bob.call('async_rename', { old_path: 'a', new_path: 'b' })
    await untilWaiting(server, 1)
    const refused = await ann.call('async_read', { path: 'a' })
    t.match(refused, { error_code: 'DEADLOCK', message: /ann -> .*a -> bob -> .*b -> ann/ })
    t.ok(ajv.validate({ $ref: answerSchema('async_read', 409) }, refused), ajv.errorsText())
    t.match(await ann.call('read_file', { name: 'a' }), { error: { code: -32001 } })
    await ann.call('lock_release_all', {})
    t.match(await renamed, { status: 'ok' })
  }
)
