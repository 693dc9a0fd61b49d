// bootstrap: the file of a service is one that its manager understands, and the manager is told of it.
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { serviceName, type ServiceDefinition } from '../../../src/program/service/definition.ts'
import { createServiceInstaller } from '../../../src/program/service/installer.ts'
import { toLaunchAgent } from '../../../src/program/service/launch-agent.ts'
import { createServiceManager } from '../../../src/program/service/choose-manager.ts'
import { toScheduledTask } from '../../../src/program/service/scheduled-task.ts'
import { toSystemdUnit } from '../../../src/program/service/systemd-unit.ts'
import { userNamespaceObstacle } from '../../../src/program/service/user-namespaces.ts'
import { createJournal } from '../../../src/program/setup/journal.ts'
import { makeHome } from '../../fixtures/home.ts'
import { programPath } from '../../fixtures/server.ts'
import { makeTool } from '../../fixtures/tools.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { child, parseXml, type Element } from '../../fixtures/xml.ts'
import type { ServiceManager } from '../../../src/program/service/service-manager.ts'

const run = promisify(execFile)
const noBus = 'echo "Failed to connect to bus: No medium found" >&2; exit 1'
/** Everything that some format has a meaning for. */
const nasty = `/a b/100%h/$HOME/'q'"q"/back\\slash\\/<&>;]]>/ü/-x`

function definitionOf(program: string, folder: string): ServiceDefinition {
  return {
    name: 'async-crud-mcp',
    description: '50% of <everything> & more',
    command: [program, `/p${folder}/main.js`, 'serve', '--dir', folder, ''],
    environment: { XDG_STATE_HOME: folder },
    writable: [folder],
    outputFile: `${folder}/out`,
    isConfined: true
  }
}

const hasAnalyze = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false
)

t.test(
  'systemd finds nothing wrong with a unit, whatever is in its paths',
  { skip: hasAnalyze ? false : 'systemd-analyze is not here: apt-get install systemd' },
  async (t) => {
    const tree = makeTree(t, { 'run/x': '' })
    const verify = async (name: string, text: string) => {
      tree.write(name, text)
      return run('systemd-analyze', ['verify', '--user', tree.path(name)], {
        env: { ...process.env, XDG_RUNTIME_DIR: tree.path('run') }
      }).then(
        ({ stderr }) => stderr,
        (error: { stderr: string }) => `failed: ${error.stderr}`
      )
    }
    // The program must be there for systemd to be content: the name it reads is the name that was meant.
    tree.write('100% $HOME <&>;]ü/x', '')
    symlinkSync(process.execPath, tree.path('100% $HOME <&>;]ü/node js'))
    const definition = definitionOf(tree.path('100% $HOME <&>;]ü/node js'), tree.path(`x${nasty}`))
    t.equal(await verify('a.service', toSystemdUnit(definition)), '')
    t.equal(await verify('b.service', toSystemdUnit({ ...definition, isConfined: false })), '')
    t.match(
      await verify('c.service', toSystemdUnit(definition).replace('node js', 'nod')),
      /is not executable/,
      'it would have said so'
    )
    t.match(await verify('d.service', toSystemdUnit(definition).replace('RestartSec', 'RestartSecs')), /Unknown key/)
  }
)

t.test('a unit confines the service to its folders, and means every character as it stands', (t) => {
  const unit = toSystemdUnit(definitionOf('/usr/bin/node', nasty))
  const quoted = `/a b/100%%h/$HOME/'q'\\"q\\"/back\\\\slash\\\\/<&>;]]>/ü/-x`
  t.match(unit, `ExecStart=":/usr/bin/node" "/p${quoted}/main.js" "serve" "--dir" "${quoted}" ""\n`)
  t.match(unit, `ReadWritePaths="-${quoted}"\n`)
  t.match(unit, `Environment="XDG_STATE_HOME=${quoted}"\n`)
  t.match(unit, 'Description=50%% of <everything> & more\n')
  for (const line of [
    'ProtectSystem=strict',
    'ProtectHome=read-only',
    'PrivateUsers=yes',
    'PrivateTmp=yes',
    'NoNewPrivileges=yes',
    'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
    'Restart=on-failure',
    'WantedBy=default.target'
  ])
    t.match(unit, `\n${line}\n`)
  t.notMatch(toSystemdUnit(definitionOf('/usr/bin/node', '/tmp/app')), 'PrivateTmp', 'a root below /tmp would be gone')
  t.notMatch(toSystemdUnit({ ...definitionOf('/n', '/a'), isConfined: false }), /Protect|PrivateUsers|ReadWritePaths/)
  t.throws(
    () => toSystemdUnit(definitionOf('/usr/bin/node', '/a\n[Service]\nExecStartPre=/bin/rm')),
    /control characters/
  )
  t.throws(() => toLaunchAgent(definitionOf('/usr/bin/node', '/a\u0007')), /control characters/)
  t.throws(() => serviceName('../x'), /lower-case letters/)
  t.equal(serviceName('work'), 'async-crud-mcp-work')
  t.end()
})

t.test('where systemd cannot confine a service of a user is known', (t) => {
  const tree = makeTree(t, { 'user/max_user_namespaces': '96365\n', 'kernel/x': '' })
  t.equal(userNamespaceObstacle(tree.root), undefined)
  tree.write('kernel/apparmor_restrict_unprivileged_userns', '1\n')
  t.equal(userNamespaceObstacle(tree.root), `${tree.path('kernel/apparmor_restrict_unprivileged_userns')} = 1`)
  t.end()
})

/** The keys of launchd.plist(5) that are used, and their kinds. */
const launchdKeys: Record<string, string> = {
  Label: 'string',
  ProgramArguments: 'array',
  EnvironmentVariables: 'dict',
  RunAtLoad: 'true',
  KeepAlive: 'dict',
  ThrottleInterval: 'integer',
  ExitTimeOut: 'integer',
  StandardOutPath: 'string',
  StandardErrorPath: 'string'
}

function dictOf({ name, children }: Element): Map<string, Element> {
  t.equal(name, 'dict')
  t.equal(children.length % 2, 0)
  const entries = new Map<string, Element>()
  for (let at = 0; at < children.length; at += 2) {
    const [key, value] = [children[at], children[at + 1]]
    if (key?.name !== 'key' || value === undefined) throw new Error('no key where one belongs')
    entries.set(key.text, value)
  }
  return entries
}

t.test('a launch agent has the keys that launchd knows, and every word as it is', (t) => {
  const plist = parseXml(toLaunchAgent(definitionOf('/usr/local/bin/node', nasty)))
  t.match(plist, { name: 'plist', attributes: { version: '1.0' } })
  const entries = dictOf(child(plist, 'dict'))
  t.strictSame(Object.fromEntries([...entries].map(([key, { name }]) => [key, name])), launchdKeys)
  t.strictSame(
    entries.get('ProgramArguments')?.children.map(({ text }) => text),
    ['/usr/local/bin/node', `/p${nasty}/main.js`, 'serve', '--dir', nasty, '']
  )
  t.equal(dictOf(entries.get('EnvironmentVariables') as Element).get('XDG_STATE_HOME')?.text, nasty)
  t.equal(dictOf(entries.get('KeepAlive') as Element).get('SuccessfulExit')?.name, 'false')
  t.equal(entries.get('StandardErrorPath')?.text, `${nasty}/out`)
  t.end()
})

t.test('a task of Windows has the elements of its schema, and arguments that Windows takes apart as they were', (t) => {
  const words = ["C:\\Program Files\\it's\\main.js", 'serve', '--dir', 'C:\\a b\\', 'say "hi"\\', '', '100% & <more>']
  const definition = {
    ...definitionOf('x', 'y'),
    command: ['C:\\Program Files\\node.exe', ...words],
    environment: {}
  } as const
  const task = parseXml(
    toScheduledTask({ ...definition, command: ['C:\\Program Files\\node.exe', ...words] }, 'BOX\\ann & co')
  )
  t.match(task, {
    name: 'Task',
    attributes: { version: '1.2', xmlns: 'http://schemas.microsoft.com/windows/2004/02/mit/task' }
  })
  t.strictSame(
    task.children.map(({ name }) => name),
    ['RegistrationInfo', 'Triggers', 'Principals', 'Settings', 'Actions']
  )
  const exec = child(child(task, 'Actions'), 'Exec')
  t.equal(child(exec, 'Command').text, 'C:\\Program Files\\node.exe')
  t.strictSame(toWords(child(exec, 'Arguments').text), words)
  const principal = child(child(task, 'Principals'), 'Principal')
  t.equal(principal.attributes['id'], child(task, 'Actions').attributes['Context'])
  t.match(
    principal.children.map(({ name, text }) => `${name}=${text}`),
    ['UserId=BOX\\ann & co', 'LogonType=InteractiveToken', 'RunLevel=LeastPrivilege']
  )
  t.strictSame(
    child(child(task, 'Triggers'), 'LogonTrigger').children.map(({ name }) => name),
    ['Enabled', 'UserId']
  )
  const settings = Object.fromEntries(child(task, 'Settings').children.map(({ name, text }) => [name, text]))
  t.match(settings, {
    MultipleInstancesPolicy: 'IgnoreNew',
    ExecutionTimeLimit: 'PT0S',
    DisallowStartIfOnBatteries: 'false',
    StopIfGoingOnBatteries: 'false'
  })
  t.end()
})

/** As CommandLineToArgvW does it: of backslashes before a quotation mark two are one, and an odd one makes the mark a letter. */
function toWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let isQuoted = false
  for (const [part, slashes = '', mark] of line.matchAll(/(\\*)(")|\\+|[^\\"]/g)) {
    if (mark !== undefined) {
      word = (word ?? '') + '\\'.repeat(Math.floor(slashes.length / 2))
      if (slashes.length % 2 === 1) word += '"'
      else isQuoted = !isQuoted
    } else if (part === ' ' && !isQuoted) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + part
  }
  return word === undefined ? words : [...words, word]
}

t.test('systemd is told of a service through its whole life, and nothing of it is left', async (t) => {
  const home = makeHome(t, { 'tree/f': '' })
  const outside = makeTree(t)
  const tool = makeTool(
    outside,
    'systemctl',
    '[ "$2" = show ] && printf "ActiveState=active\\nSubState=running\\nMainPID=4711\\n"; exit 0'
  )
  const before = home.snapshot()
  const call = (...args: string[]) => home.call(['bootstrap', ...args], { PATH: tool.path })
  t.match(await call('install', '--dir', 'tree', '--dry-run'), { code: 0, stdout: /^\[Unit\]\n/ })
  t.strictSame(home.snapshot(), before, '--dry-run changes nothing')
  t.match(await call('status'), { code: 3, stdout: /is not installed/ })
  t.match(await call('start'), { code: 1, stderr: /async-crud-mcp is not installed: async-crud-mcp bootstrap install/ })
  const started = await home.run(['bootstrap', 'install', '--dir', 'tree', '--start'], { PATH: tool.path })
  t.match(started, { code: 0, stdout: /started/ })
  const unit = home.read('.config/systemd/user/async-crud-mcp.service')
  t.match(
    unit,
    `ExecStart=":${process.execPath}" "${programPath}" "serve" "--as-service" "--transport" "http" "--dir" "${home.path('tree')}" "--log-file" "auto"`
  )
  for (const folder of ['tree', '.local/share/async-crud-mcp', '.local/state/async-crud-mcp'])
    t.match(unit, `ReadWritePaths="-${home.path(folder)}"`)
  t.match(await call('install', '--dir', 'tree'), { code: 0, stdout: /is already installed/ })
  t.match(await call('install', '--dir', 'tree', '--name', 'two', '--no-confinement'), {
    code: 0,
    stdout: /async-crud-mcp-two: starts at the next login/
  })
  t.strictSame(JSON.parse((await call('status', '--json')).stdout), {
    name: 'async-crud-mcp',
    file: home.path('.config/systemd/user/async-crud-mcp.service'),
    is_installed: true,
    is_running: true,
    state: 'active (running)',
    pid: 4711
  })
  t.match(await call('status'), { code: 0, stdout: /active \(running\), process 4711/ })
  t.match(JSON.parse((await call('list', '--json')).stdout), [
    { name: 'async-crud-mcp' },
    { name: 'async-crud-mcp-two' }
  ])
  t.match(await call('stop'), { code: 0 })
  t.match(await call('start'), { code: 0 })
  t.match(await call('uninstall', '--name', 'two'), { code: 0, stdout: /two: removed/ })
  t.match(await call('uninstall'), { code: 0, stdout: /removed/ })
  t.match(await call('uninstall'), { code: 0, stdout: /is not installed/ })
  const changes = tool.calls().filter((line) => !line.includes(' show '))
  t.strictSame(
    changes.map((line) => line.replace('--user ', '')),
    [
      'daemon-reload',
      'enable async-crud-mcp.service',
      'stop async-crud-mcp.service',
      'start async-crud-mcp.service',
      'daemon-reload',
      'enable async-crud-mcp.service',
      'daemon-reload',
      'enable async-crud-mcp-two.service',
      'stop async-crud-mcp.service',
      'start async-crud-mcp.service',
      'disable --now async-crud-mcp-two.service',
      'disable --now async-crud-mcp.service'
    ]
  )
  t.match(await home.run(['uninstall', '--purge'], { PATH: tool.path }), { code: 0 })
  t.strictSame(home.snapshot(), before)
})

t.test('where no service manager runs the file is written all the same, and what to run is said', async (t) => {
  const home = makeHome(t, { 'tree/f': '', 'off.json': '{"daemon": {"enabled": false}}' })
  const { path } = makeTool(makeTree(t), 'systemctl', noBus)
  const call = (...args: string[]) => home.call(['bootstrap', ...args], { PATH: path })
  t.match(await call('install', '--dir', 'tree', '--start'), {
    code: 1,
    stderr:
      /systemd could not register .*No medium found.*systemctl --user daemon-reload && systemctl --user enable --now async-crud-mcp/
  })
  t.match(await call('install', '--dir', 'tree'), {
    code: 0,
    stdout: /already exists, but systemd could not register async-crud-mcp/
  })
  t.match(await call('status'), { code: 3, stdout: /unknown: .*No medium found/ })
  t.match(await call('start'), { code: 1, stderr: /No medium found/ })
  t.match(await call('install', '--dir', 'tree', '--config', 'off.json', '--start'), {
    code: 0,
    stdout: /daemon\.enabled is false/
  })
  t.match(await call('uninstall'), { code: 0, stdout: /removed/, stderr: /its file is removed anyway/ })
  t.match(await call('list'), { code: 0, stdout: /no service is installed/ })
  t.match(await call('install'), { code: 1, stderr: /no root: pass --dir/ })
  t.match(await call('install', '--dir', 'tree', '--name', 'A b'), {
    code: 1,
    stderr: /lower-case letters, digits and hyphens/
  })
  const variable = { PATH: path, ASYNC_CRUD_MCP_DAEMON__PORT: '9000' }
  t.match(await home.call(['bootstrap', 'install', '--dir', 'tree'], variable), {
    stderr: /does not see ASYNC_CRUD_MCP_DAEMON__PORT/
  })
})

for (const [platform, tool, script, states, expected] of [
  [
    'darwin',
    'launchctl',
    // Loaded from bootstrap to bootout, as the real one.
    'f="$0.loaded"; case "$1" in bootstrap) touch "$f";; bootout) rm "$f";; print) [ -e "$f" ] || exit 113; printf "x = {\\n\\tstate = running\\n\\tpid = 4711\\n}\\n";; esac',
    { isRunning: true, state: 'running', pid: 4711 },
    [
      'print gui/501/async-crud-mcp',
      'bootstrap gui/501 <file>',
      'print gui/501/async-crud-mcp',
      'print gui/501/async-crud-mcp',
      'bootout gui/501/async-crud-mcp',
      'print gui/501/async-crud-mcp'
    ]
  ],
  [
    'win32',
    'schtasks',
    '[ "$1" = /Query ] && printf \'"\\\\async-crud-mcp","N/A","Running"\\r\\n\'; exit 0',
    { isRunning: true, state: 'Running', pid: null },
    [
      '/Create /TN async-crud-mcp /XML <file> /F',
      '/Run /TN async-crud-mcp',
      '/Query /TN async-crud-mcp /FO CSV /NH',
      '/End /TN async-crud-mcp',
      '/End /TN async-crud-mcp',
      '/Delete /TN async-crud-mcp /F'
    ]
  ]
] as const) {
  t.test(`${tool} is told of a service, and fails with its own words`, async (t) => {
    const home = makeTree(t)
    const recorded = makeTool(home, tool, script)
    const place = {
      platform,
      home: home.root,
      environment: { PATH: recorded.path, USERDOMAIN: 'BOX', USERNAME: 'ann' },
      dataFolder: home.path('data'),
      uid: 501
    }
    const manager: ServiceManager = createServiceManager(place)
    const installer = createServiceInstaller(manager, createJournal(home.path('data')))
    const definition = { ...definitionOf('/usr/bin/node', '/home/ann/app'), environment: {} }
    t.equal(installer.write(definition), true)
    t.equal(installer.write(definition), false, 'a second time changes nothing')
    t.strictSame(installer.names(), ['async-crud-mcp'])
    const name = 'async-crud-mcp'
    await manager.register(name)
    await manager.start(name)
    t.strictSame(await manager.status(name), states)
    await manager.stop(name)
    await manager.unregister(name)
    t.strictSame(
      recorded.calls().map((line) => line.replace(manager.fileOf(name), '<file>')),
      expected
    )
    t.equal(installer.remove(name), true)
    t.strictSame(installer.names(), [])
    writeFileSync(home.path(`bin/${tool}`), '#!/bin/sh\necho "not today" >&2\nexit 5\n')
    await t.rejects(manager.start(name), /failed \(5\): not today/)
    await t.rejects(
      createServiceManager({ ...place, environment: { PATH: '/nowhere' } }).start(name),
      new RegExp(`${tool} is not installed here`)
    )
  })
}

t.test('launchctl may say that an agent is still ending: then its end is awaited', async (t) => {
  const home = makeTree(t)
  // Loaded until it has been asked twice more.
  const script =
    'f="$0.asked"; case "$1" in bootout) echo 0 > "$f"; echo "Boot-out failed: 36: Operation now in progress" >&2; exit 36;; print) [ -e "$f" ] || exit 0; n=$(cat "$f"); echo $((n + 1)) > "$f"; [ "$n" -lt 1 ] || exit 113;; esac'
  const tool = makeTool(home, 'launchctl', script)
  const environment = { PATH: `${tool.path}:${process.env['PATH'] ?? ''}` }
  const place = { platform: 'darwin', home: home.root, environment, dataFolder: home.path('data'), uid: 501 } as const
  await createServiceManager(place).stop('async-crud-mcp')
  t.strictSame(
    tool.calls().map((line) => line.split(' ')[0]),
    ['print', 'bootout', 'print', 'print']
  )
})
