// The plain routes keep their schemas: what they take in a querystring, what they refuse, and what they answer.
import { Ajv } from 'ajv'
import t from 'tap'
import { routes } from '../../schemas/routes.ts'
import { connect, type Answer } from '../fixtures/clients.ts'
import { follow, get } from '../fixtures/event-stream.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const ajv = new Ajv({ formats: { 'date-time': true }, strict: false })

t.test('answers satisfy the schemas of their routes', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('lock_try', { filepaths: ['f'] })
  for (const path of ['/health', '/locks', '/activity'] as const) {
    const response = await fetch(url + path)
    t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
    t.ok(ajv.validate(routes[path].response[200], await response.json()), `${path}: ${ajv.errorsText()}`)
  }
  const { events } = await follow(t, url)
  t.ok(ajv.validate(routes['/events'].response[200].content['text/event-stream'].schema, events[0]), ajv.errorsText())
  const page = await fetch(`${url}/docs`)
  t.match(page.headers.get('content-type'), Object.keys(routes['/docs'].response[200].content)[0])
})

t.test('a query is refused with every fault of it, in the form of an operation', async (t) => {
  const { url } = await startServer(t, makeTree(t).root)
  const refusals: Record<string, RegExp> = {
    '/locks?limit=all': /limit must be a whole number from 0 to 100000, not "all"\. Correct it or leave it out/,
    '/locks?limit=0x10': /not "0x10"/,
    '/locks?limit=1e3': /not "1e3"/,
    '/locks?limit=%205': /not " 5"/,
    '/locks?limit=100001': /limit must be <= 100000, not 100001/,
    '/locks?limit=1&limit=2': /limit is given more than once/,
    '/locks?only=waited-for': /only has an unknown name "waited-for"; did you mean "waited_for"\?/,
    '/locks?limits=1': /unknown parameter "limits"; did you mean "limit"\? Correct/,
    '/locks?__proto__=1': /unknown parameter "__proto__"/,
    '/locks?constructor=1': /unknown parameter "constructor"/,
    '/events?types=contention,file_change': /types has an unknown name "file_change"; did you mean "file_changed"\?/,
    '/events?path=&agent_id=%07&who=x':
      /unknown parameter "who".*path\[0\] must not be empty.*agent_id must have a visible/s
  }
  for (const [path, message] of Object.entries(refusals)) {
    const response = await fetch(url + path)
    const body = (await response.json()) as Answer
    t.match({ status: response.status, body }, { status: 400, body: { error_code: 'INVALID_REQUEST', message } }, path)
    const { faults } = body['details'] as { faults: Answer[] }
    for (const fault of faults) t.match(body['message'], fault['message'], 'is in the message')
  }
  t.equal((await fetch(`${url}/locks?limit=all`, { method: 'HEAD' })).status, 400)
  t.equal((await fetch(`${url}/health?anything`)).status, 200, 'a monitor may add a parameter of its own')
})

t.test('a list of words may have commas in it or be given several times, a path only the latter', async (t) => {
  const { url } = await startServer(t, makeTree(t, { 'a,b': '' }).root)
  const types = ['contention', 'lock_released', 'file_changed']
  const query = 'types=contention,lock_released&types=file_changed&path=a,b&path=c'
  t.match((await follow(t, url, query)).events[0], { types, paths: ['a,b', 'c'] })
})

t.test('access comes before the query: a client without it learns nothing of the schema', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { token: 'sesame' } })
  t.equal((await fetch(`${url}/locks?limit=all`)).status, 401)
  t.equal((await get(url, 'types=none')).statusCode, 401)
})
