// Settings from all their sources: which comes first, what the file may say, and what is said of what is wrong in it.
import assert from 'node:assert/strict'
import { chmodSync, readFileSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { installed } from '../../src/support/installation.ts'
import { loadSettings, type FlagValue } from '../../src/config/config.ts'
import { createExample } from '../../src/config/example.ts'
import { fieldOf, fields } from '../../src/config/fields.ts'
import { parseJson, valueOf } from '../../src/config/json-source.ts'
import { ConfigError, type Fault } from '../../src/config/layer.ts'
import { createPublishedSchema } from '../../src/config/published-schema.ts'
import { candidatePorts, portOfUser } from '../../src/support/ports.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { prdExample } from './fixtures/prd-example.ts'
import { sampleOf, toVariable } from './fixtures/sample.ts'
import { casesOf } from '../fixtures/length.ts'

const page = readFileSync(installed('docs/configuration.md'), 'utf8')
const noFile = { ASYNC_CRUD_MCP_CONFIG: '' }

function faultsOf(load: () => unknown): readonly Fault[] {
  try {
    load()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

t.test('the example of the specification loads as it stands there', async (t) => {
  const tree = makeTree(t, { 'config.json': prdExample })
  const { config, values } = loadSettings({ environment: {}, configFile: tree.path('config.json') })
  t.match(config.daemon, { transport: 'http', log_level: 'debug', port: 8720, config_debounce_seconds: 1 })
  t.match(config.crud, { base_directories: [], default_timeout: 30, max_file_size_bytes: 10_485_760 })
  t.match(config.persistence, { enabled: false, state_file: null, write_debounce_seconds: 1, ttl_multiplier: 2 })
  t.match(config.watcher, { enabled: true, debounce_ms: 100 })
  t.match(values.get('daemon.port')?.origin, { source: 'file', line: 8 })
  t.match(values.get('locks.enforcement')?.origin, { source: 'default' })
})

t.test('the page names every setting with its default, and nothing else', async (t) => {
  const rows = [...page.matchAll(/^- `(\w+\.\w+)`: default\s+`(.*?)`,\s+([^]*?)(, live|)\.\s/gm)]
  t.strictSame(
    rows.map(([, name]) => name),
    [...fields.keys()]
  )
  const { config } = loadSettings({ environment: noFile })
  for (const [, name = '', byDefault = '', , live] of rows) {
    const { section, key, schema } = fieldOf(name)
    const sections = config as unknown as Record<string, Record<string, unknown>>
    t.strictSame(sections[section]?.[key], JSON.parse(byDefault), name)
    t.equal(live === ', live', schema['x-live'] === true, `${name} is live or not`)
  }
})

t.test('a flag comes before the environment, that before the file, that before the default', async (t) => {
  const tree = makeTree(t, {
    'config.json': '{"crud":{"max_timeout":1,"default_timeout":2},"locks":{"lease_ttl_seconds":3}}'
  })
  const flags: FlagValue[] = [{ setting: 'crud.max_timeout', flag: '--flag', value: 7 }]
  const environment = { ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: '5', ASYNC_CRUD_MCP_CRUD__DEFAULT_TIMEOUT: '6' }
  const { config, values } = loadSettings({ flags, environment, configFile: tree.path('config.json') })
  t.match(config.crud, { max_timeout: 7, default_timeout: 6, diff_context_lines: 3 })
  t.equal(config.locks.lease_ttl_seconds, 3)
  t.match(values.get('crud.max_timeout')?.origin, { source: 'flag', flag: '--flag' })
  t.match(values.get('crud.default_timeout')?.origin, { variable: 'ASYNC_CRUD_MCP_CRUD__DEFAULT_TIMEOUT' })
  t.match(values.get('locks.lease_ttl_seconds')?.origin, { source: 'file', file: tree.path('config.json'), line: 1 })
})

t.test('every setting can come from the file', async (t) => {
  const samples = Object.fromEntries([...fields.values()].map(({ name, schema }) => [name, sampleOf(schema)]))
  const tree = makeTree(t, { 'config.json': createExample(samples, 'file:///schema.json') })
  const { values } = loadSettings({ environment: {}, configFile: tree.path('config.json') })
  for (const [name, sample] of Object.entries(samples))
    t.match(values.get(name), { value: sample, origin: { source: 'file' } })
})

t.test('an explicit file is found by its flag, else by the environment; an empty variable means none', async (t) => {
  const tree = makeTree(t, { 'a.json': '{"crud":{"max_timeout":1}}', 'b.json': '\uFEFF{"crud":{"max_timeout":2}}' })
  const environment = { ASYNC_CRUD_MCP_CONFIG: tree.path('b.json') }
  t.equal(loadSettings({ environment }).config.crud.max_timeout, 2, 'a byte order mark is no fault')
  t.equal(loadSettings({ environment, configFile: tree.path('a.json') }).config.crud.max_timeout, 1)
  t.match(loadSettings({ environment: noFile }), { file: undefined, config: { crud: { max_timeout: 300 } } })
  const missing = faultsOf(() => loadSettings({ environment, configFile: tree.path('none.json') }))
  t.match(missing, [{ message: /none\.json does not exist; async-crud-mcp config init --config/ }])
  t.match(
    faultsOf(() => loadSettings({ environment, configFile: tree.root })),
    [{ message: /is not a file/ }]
  )
})

t.test('a fault in the file is one line with its place, what was expected and the value', async (t) => {
  const cases: [text: string, ...messages: string[]][] = [
    [
      '',
      '1:1: not JSON: expected a value: a string in double quotes, a number, true, false, null, a list or an object, found the end of the file'
    ],
    [
      '[]',
      '1:1: expected an object with the sections daemon, crud, locks, hooks, persistence, watcher, events, mcp, tree, land'
    ],
    [
      '{\n  "daemon": {\n    "port": 80\n  }\n}',
      '3:13: daemon.port must be a whole number from 1024 to 65535 or null, not 80'
    ],
    ['{"daemon":{"port":65536}}', '1:19: daemon.port must be a whole number from 1024 to 65535 or null, not 65536'],
    ['{"daemon":{"port":8720.5}}', '1:19: daemon.port must be a whole number from 1024 to 65535 or null, not 8720.5'],
    ['{"daemon":{"port":"8720"}}', '1:19: daemon.port must be a whole number from 1024 to 65535 or null, not "8720"'],
    ['{"daemon":{"port":8720,}}', '1:24: not JSON: expected a name in double quotes, found }'],
    ['{"daemon":{"port":8720}', '1:24: not JSON: expected a comma or }, found the end of the file'],
    ["{'daemon':{}}", "1:2: not JSON: expected a name in double quotes or }, found '"],
    ['{\n// a comment\n}', '2:1: not JSON: expected no comment, found /'],
    [`{"daemon":${'['.repeat(200_000)}`, '1:75: not JSON: expected no more than 64 levels, found ['],
    ['{"daemon":{}} {}', '1:15: not JSON: expected nothing more, found {'],
    ['{"daemon":{"prot":1}}', '1:12: daemon.prot is not a setting; did you mean daemon.port?'],
    ['{"crud":{"port":8720}}', '1:10: crud.port is not a setting; did you mean daemon.port?'],
    ['{"deamon":{}}', '1:2: "deamon" is not a section; did you mean "daemon"?'],
    ['{"port":8720}', '1:2: "port" is not a section; did you mean daemon.port, inside "daemon"?'],
    ['{"daemon":5}', '1:11: daemon must be an object with settings'],
    ['{"daemon":{"port":8720,\n"port":8721}}', '2:1: "port" occurs here a second time'],
    [
      '{"daemon":{"log_level":"loud"}}',
      '1:24: daemon.log_level must be one of trace, debug, info, warn, error, fatal, silent, not "loud"'
    ],
    ['{"daemon":{"transport":"SSE "}}', '1:24: daemon.transport must be one of http, stdio, dual, not "SSE "'],
    ['{"crud":{"base_directories":"/a"}}', '1:29: crud.base_directories must be a list of non-empty strings, not "/a"'],
    ['{"crud":{"base_directories":["/a",\n "b"]}}', '2:2: crud.base_directories must be an absolute path, not "b"'],
    [
      '{"crud":{"base_directories":["/a", 5]}}',
      '1:36: crud.base_directories must be a list of non-empty strings, not 5'
    ],
    ['{"daemon":{"log_file":"x.log"}}', '1:23: daemon.log_file must be an absolute path, not "x.log"'],
    ['{"watcher":{"enabled":1}}', '1:23: watcher.enabled must be true or false, not 1'],
    [
      '{"daemon":{"host":""},\n"crud":{"max_timeout":-1},"x":1}',
      '1:19: daemon.host must be a non-empty string, not ""',
      '2:27: "x" is not a section; known: daemon, crud, locks, hooks, persistence, watcher, events, mcp, tree, land',
      '2:23: crud.max_timeout must be a number not below 0, not -1'
    ]
  ]
  const tree = makeTree(t)
  for (const [text, ...messages] of cases) {
    tree.write('config.json', text)
    const path = tree.path('config.json')
    const faults = faultsOf(() => loadSettings({ environment: {}, configFile: path }))
    t.strictSame(
      faults.map(({ message }) => message),
      messages.map((message) => `${path}:${message}`),
      text
    )
  }
})

t.test('more faults than one are counted in one line', async (t) => {
  const environment = { ...noFile, ASYNC_CRUD_MCP_DAEMON__PORT: '1', ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: 'x' }
  t.throws(() => loadSettings({ environment }), {
    message:
      'ASYNC_CRUD_MCP_DAEMON__PORT: daemon.port must be a whole number from 1024 to 65535 or null, not 1 (and 1 more; async-crud-mcp config validate shows all)'
  })
})

t.test('a misspelt variable is a fault that names the one that was meant; those of others are none', async (t) => {
  const cases: [string, RegExp][] = [
    ['ASYNC_CRUD_MCP_DAEMON__PROT', /no such setting; did you mean ASYNC_CRUD_MCP_DAEMON__PORT\?/],
    ['ASYNC_CRUD_MCP_DEAMON__PORT', /did you mean ASYNC_CRUD_MCP_DAEMON__PORT\?/],
    ['ASYNC_CRUD_MCP_CRUD__PORT', /did you mean ASYNC_CRUD_MCP_DAEMON__PORT\?/],
    ['ASYNC_CRUD_MCP_CRUD__SOMETHING_ELSE', /docs\/configuration\.md lists them all/]
  ]
  for (const [variable, message] of cases)
    t.match(
      faultsOf(() => loadSettings({ environment: { ...noFile, [variable]: '1' } })),
      [{ message }],
      variable
    )
  loadSettings({ environment: { ...noFile, ASYNC_CRUD_MCP_AGENT_ID: 'ann', ASYNC_CRUD_MCP_GUARD_CLOSED: '1' } })
})

t.test('a token is in no message', async (t) => {
  const tree = makeTree(t)
  const secret = '1234567'
  for (const text of [
    `{"daemon":{"token":${secret}}}`,
    `{"daemon":{"token":["${secret}"]}}`,
    `{"daemon":{"token":"${secret}" "port":1}}`,
    `{"daemon":{"token":x${secret}}}`,
    `{"daemon":{"token":"${secret}}}`,
    `{"daemon":{"tokem":"${secret}"}}`,
    `{"token":"${secret}"}`,
    `{"daemon":"${secret}"}`
  ]) {
    tree.write('config.json', text)
    const faults = faultsOf(() => loadSettings({ environment: {}, configFile: tree.path('config.json') }))
    t.equal(faults.length, 1, text)
    t.notMatch(JSON.stringify(faults), secret)
  }
  const environment = { ...noFile, ASYNC_CRUD_MCP_DAEMON__TOKENS: secret }
  t.notMatch(JSON.stringify(faultsOf(() => loadSettings({ environment }))), secret)
})

t.test('neither the file nor the log may lie inside a root, by whatever way', async (t) => {
  const tree = makeTree(t, {
    'root/config.json': '{"crud":{}, "daemon":{"port":8721}}',
    'config.json': '{"daemon":{"port":8721}}'
  })
  symlinkSync(tree.path('root'), tree.path('link'))
  const flags: FlagValue[] = [{ setting: 'crud.base_directories', flag: '--dir', value: [tree.path('root')] }]
  const load = (configFile: string) => () => loadSettings({ flags, environment: {}, configFile: tree.path(configFile) })
  t.strictSame(faultsOf(load('config.json')), [])
  for (const name of ['root/config.json', 'link/config.json'])
    t.match(faultsOf(load(name)), [{ message: /lies inside the root .*move it, and name it with --config/ }], name)
  const log = { setting: 'daemon.log_file', flag: '--log-file', value: tree.path('link/x/a.log') }
  t.match(
    faultsOf(() => loadSettings({ flags: [...flags, log], environment: noFile })),
    [{ message: /^--log-file: daemon\.log_file must lie outside the roots/ }]
  )
  const kept = (name: string) => ({ ...noFile, ASYNC_CRUD_MCP_PERSISTENCE__STATE_FILE: tree.path(name) })
  for (const name of ['root/.async-crud-mcp/kept', 'kept'])
    t.strictSame(
      faultsOf(() => loadSettings({ flags, environment: kept(name) })),
      [],
      name
    )
  t.match(
    faultsOf(() => loadSettings({ flags, environment: kept('link/kept') })),
    [{ message: /persistence\.state_file must lie outside the roots, or in the folder \.async-crud-mcp of one/ }]
  )
})

t.test('the words of the specification and paths below the home folder are understood', async (t) => {
  const text =
    '{"daemon":{"transport":"sse","log_level":"WARN","port":null,"log_file":"auto"},"crud":{"base_directories":["~/a"]}}'
  const tree = makeTree(t, { 'config.json': text })
  const { config } = loadSettings({ environment: {}, configFile: tree.path('config.json') })
  t.match(config.daemon, { transport: 'http', log_level: 'warn', port: null, log_file: 'auto' })
  t.strictSame(config.crud.base_directories, [join(homedir(), 'a')])
  const environment = { ...noFile, ASYNC_CRUD_MCP_DAEMON__LOG_LEVEL: 'Error', ASYNC_CRUD_MCP_DAEMON__LOG_FILE: 'null' }
  t.match(loadSettings({ environment }).config.daemon, { log_level: 'error', log_file: null })
})

t.test('the operator is told of a token that others can read', async (t) => {
  const tree = makeTree(t, { 'config.json': '{"daemon":{"token":"x"}}' })
  const load = () => loadSettings({ environment: {}, configFile: tree.path('config.json') }).warnings
  chmodSync(tree.path('config.json'), 0o600)
  t.strictSame(load(), [])
  chmodSync(tree.path('config.json'), 0o644)
  t.match(load(), [/holds a token and can be read by other users: chmod 600/])
})

t.test(
  'a port by the name of the user is the one of the specification, and the range is walked from there',
  async (t) => {
    // From the function of PRD 11.3, run in Python.
    const ports = [
      ['ann', 8753],
      ['root', 8771],
      ['José', 8720],
      ['user.name', 8767]
    ] as const
    for (const [name, port] of ports) t.equal(portOfUser(name), port, name)
    t.equal(portOfUser('ANN'), portOfUser('ann'))
    const all = candidatePorts(null)
    t.equal(new Set(all).size, 100)
    t.equal(Math.min(...all), 8720)
    t.equal(Math.max(...all), 8819)
    t.strictSame(candidatePorts(8818), [8818, 8819])
    t.strictSame(candidatePorts(65535), [65535])
    t.equal(candidatePorts(9000).length, 100)
  }
)

t.test('the published schema takes the example of the specification and refuses what the server refuses', async (t) => {
  const published = new Ajv({ allowUnionTypes: true }).addVocabulary(['x-live', 'x-any-case', 'x-aliases', 'x-path'])
  const check = published.compile(createPublishedSchema())
  t.ok(check(JSON.parse(prdExample)), JSON.stringify(check.errors))
  t.ok(check(JSON.parse(createExample({}, ''))))
  for (const wrong of [
    { daemon: { prot: 1 } },
    { daemon: { port: 80 } },
    { deamon: {} },
    { crud: { max_timeout: 'x' } }
  ])
    t.notOk(check(wrong), JSON.stringify(wrong))
})

t.test('the environment reaches every setting', async (t) => {
  const samples = [...fields.values()].map((field) => ({ ...field, sample: sampleOf(field.schema) }))
  const environment = Object.fromEntries(samples.map(({ variable, sample }) => [variable, toVariable(sample)]))
  const { values } = loadSettings({ environment: { ...noFile, ...environment } })
  for (const { name, variable, sample } of samples)
    t.match(values.get(name), { value: sample, origin: { source: 'environment', variable } }, name)
})

t.test('JSON with places accepts what JSON.parse accepts, and gives the same', async () => {
  const parse = (text: string) => {
    try {
      return [valueOf(text, parseJson(text))]
    } catch {
      return 'a fault'
    }
  }
  const native = (text: string) => {
    try {
      return [JSON.parse(text) as unknown]
    } catch {
      return 'a fault'
    }
  }
  // Valid texts, the same with one character more, less or another, and texts of JSON's own characters.
  const valid = fc
    .tuple(fc.jsonValue({ maxDepth: 4 }), fc.nat(3))
    .map(([value, indent]) => JSON.stringify(value, null, indent))
  const bent = fc
    .tuple(
      valid,
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', ']', '{', '0', '-', '.', 'e', '\\', 'u', '\n', '\u0001', 'x', ' '),
      fc.nat(1)
    )
    .map(([text, at, insert, cut]) => {
      const index = at % (text.length + 1)
      return text.slice(0, index) + insert + text.slice(index + cut)
    })
  const noise = fc
    .array(fc.constantFrom(...Array.from('{}[]:,"\\-+0123456789.eEtrufalsn/b \n\t\r')), { maxLength: 12 })
    .map((all) => all.join(''))
  fc.assert(
    fc.property(fc.oneof(valid, bent, noise), (text) => {
      assert.deepEqual(parse(text), native(text))
    }),
    { numRuns: casesOf(2000) }
  )
})

t.test('a value of the right form that no call could work with is a fault, at its place', async (t) => {
  const tree = makeTree(t)
  const cases: [text: string, ...messages: (string | RegExp)[]][] = [
    [
      '{"crud":{"default_encoding":"bogus"}}',
      /1:29: crud\.default_encoding cannot be "bogus": Unknown encoding "bogus", for crud\.default_encoding\. Use utf-8/
    ],
    [
      '{"crud":{"default_timeout":20,\n"max_timeout":10}}',
      /1:28: crud\.default_timeout must not be above crud\.max_timeout, which is 10 \(.*:2:15\), but is 20$/
    ],
    ['{"crud":{"default_timeout":301}}', /1:28: crud\.default_timeout .*, which is 300 \(default\), but is 301$/],
    [
      '{"locks":{"lease_ttl_seconds":20,"max_lease_ttl_seconds":10}}',
      /1:31: locks\.lease_ttl_seconds must not be above locks\.max_lease_ttl_seconds, which is 10/
    ],
    [
      '{"daemon":{"header_timeout_seconds":31}}',
      /1:37: daemon\.header_timeout_seconds must not be above daemon\.request_timeout_seconds, which is 30 \(default\)/
    ],
    [
      `{"crud":{"protected":["a",\n "${'x'.repeat(300)}"]}}`,
      /2:2: crud\.protected cannot be "x+\.\.\.: Glob pattern is longer than 256 characters/
    ],
    [
      '{"daemon":{"allowed_hosts":["http://files.example"]}}',
      /1:29: daemon\.allowed_hosts cannot be "http:.*: no Host header looks like that: write a name with its port/
    ],
    ...['*', 'null', 'http://localhost:6274/', 'http://localhost:80', 'http://*.example', 'localhost:6274'].map(
      (origin): [string, RegExp] => [
        `{"daemon":{"allowed_origins":["${origin}"]}}`,
        /1:31: daemon\.allowed_origins cannot be ".*: no browser names an origin like that/
      ]
    ),
    ...['pass\\tword', ' x', 'x '].map((token): [string, RegExp] => [
      `{"daemon":{"token":"${token}"}}`,
      /1:20: daemon\.token cannot be what it is \(not shown\): no client could send it: use letters/
    ])
  ]
  for (const [text, ...messages] of cases) {
    tree.write('config.json', text)
    const faults = faultsOf(() => loadSettings({ environment: {}, configFile: tree.path('config.json') }))
    t.match(
      faults.map(({ message }) => message),
      messages,
      text
    )
    t.equal(faults.length, messages.length)
  }
  for (const text of ['{"crud":{"default_encoding":"latin1"}}', '{"daemon":{"token":"a b"}}']) {
    tree.write('config.json', text)
    t.strictSame(
      faultsOf(() => loadSettings({ environment: {}, configFile: tree.path('config.json') })),
      []
    )
  }
})

t.test('a default above a limit that was chosen is no fault: the limit counts', async (t) => {
  const environment = {
    ...noFile,
    ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: '10',
    ASYNC_CRUD_MCP_LOCKS__MAX_LEASE_TTL_SECONDS: '20',
    ASYNC_CRUD_MCP_DAEMON__REQUEST_TIMEOUT_SECONDS: '2'
  }
  const { config } = loadSettings({ environment })
  t.match(config.crud, { default_timeout: 30, max_timeout: 10 })
})

t.test('a server takes any time for the headers that is within the time for the request', async (t) => {
  const { root } = makeTree(t)
  const { url } = await startServer(t, root, { daemon: { header_timeout_seconds: 400, request_timeout_seconds: 500 } })
  t.match(await (await fetch(`${url}/health`)).json(), { status: 'healthy' })
})

t.test('the environment says true and false in the words that people write', async (t) => {
  const load = (text: string) =>
    loadSettings({ environment: { ...noFile, ASYNC_CRUD_MCP_WATCHER__ENABLED: text } }).config.watcher.enabled
  for (const text of ['true', 'True', 'TRUE', '1', 'yes', 'Yes', 'on', 'ON']) t.equal(load(text), true, text)
  for (const text of ['false', 'False', 'FALSE', '0', 'no', 'No', 'off', 'OFF']) t.equal(load(text), false, text)
  for (const text of ['', '2', 'y', 'null', 'maybe'])
    t.match(
      faultsOf(() => load(text)),
      [
        {
          message: `ASYNC_CRUD_MCP_WATCHER__ENABLED: watcher.enabled must be true or false, not ${JSON.stringify(text)}`
        }
      ],
      text
    )
})

t.test('a variable that begins like ours and is not read is told, with the one that was meant', async (t) => {
  const cases: [string, string][] = [
    ['ASYNC_CRUD_MCP_DAEMON_PORT', 'did you mean ASYNC_CRUD_MCP_DAEMON__PORT?'],
    ['async_crud_mcp_daemon__port', 'did you mean ASYNC_CRUD_MCP_DAEMON__PORT?'],
    ['Async_Crud_Mcp_Config', 'did you mean ASYNC_CRUD_MCP_CONFIG?'],
    ['ASYNC_CRUD_MCP_AGENTID', 'did you mean ASYNC_CRUD_MCP_AGENT_ID?'],
    ['ASYNC_CRUD_MCP_SOMETHING_ELSE_ALTOGETHER', 'docs/configuration.md lists them all']
  ]
  for (const [variable, advice] of cases)
    t.strictSame(
      loadSettings({ environment: { ...noFile, [variable]: '1' } }).warnings,
      [`${variable} in the environment is ignored: there is no such setting; ${advice}`],
      variable
    )
  const known = {
    ASYNC_CRUD_MCP_AGENT_ID: 'ann',
    ASYNC_CRUD_MCP_GUARD_CLOSED: '1',
    ASYNC_CRUD_MCP_WATCHER__ENABLED: '1'
  }
  t.strictSame(loadSettings({ environment: { ...noFile, ...known } }).warnings, [])
})
