// Two sessions of the real Claude Code and a person's editor in one tree, and three commits out of it. The model is a stand-in; npm run
// clients installs the client, outside of the project.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { isLong } from '../../fixtures/length.ts'
import { startModelStandIn, type Script, type ToolUse } from '../../fixtures/model-stand-in.ts'
import { claude, findProgram, inSteps, runClient } from '../../fixtures/real-clients.ts'
import { freePorts } from '../../fixtures/free-ports.ts'
import { base } from '../../fixtures/landing.ts'
import { programPath, startOneProgram } from '../../fixtures/server.ts'
import { until } from '../../fixtures/until.ts'
import { untilServing } from '../../fixtures/until-serving.ts'
import { userOfClone } from './fixtures/users.ts'

t.setTimeout(600_000)

/** Two models whose tools take turns: each waits until the other one has done as many steps. */
function inTurns(sessions: readonly (readonly ToolUse[])[]): readonly Script[] {
  const done = sessions.map(() => 0)
  return sessions.map((steps, own) => {
    const { script } = inSteps(claude, steps)
    return async (shown, request) => {
      done[own] = shown.length
      const isNext = () => done.every((count, other) => other === own || count >= done[own]! - (other < own ? -1 : 0))
      if (shown.length < steps.length) await until(isNext)
      return script(shown, request)
    }
  })
}

async function runSession(t: Test, program: string, script: Script, folder: string, variables: Record<string, string>) {
  const { url: modelUrl } = await startModelStandIn(t, script)
  const task = claude.prepare({ home: variables['HOME'] ?? '', project: folder, modelUrl })
  return runClient(t, program, task, { folder, variables })
}

const program = findProgram(claude.command)
const noClient = program === undefined && `npm run clients installs ${claude.package}, outside of the project`
// On a machine that is busy enough a client gives up on a hook, and its change is nobody's.
const noTime = !isLong && 'a task of the long form'
const noGit = spawnSync('git', ['--version']).error !== undefined && 'no git here'

t.test('two sessions and a person, three commits', { skip: noTime || noClient || noGit }, async (t) => {
  const user = await userOfClone(t)
  const { home } = user
  const project = home.path('app')
  const variables = { ...user.variables, PATH: [user.variables['PATH'], '/usr/bin', '/bin'].join(delimiter) }
  const git = (...args: string[]) => execFileSync('git', ['-C', project, ...args], { encoding: 'utf8' })
  mkdirSync(project)
  writeFileSync(join(project, 'a.txt'), base)
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Name')
  git('config', 'user.email', 'name@example.org')
  git('add', '-A')
  git('commit', '-qm', 'first')
  symlinkSync(program!, home.path('bin/claude'))
  t.match(await user.run('setup', 'claude-code', '--project', 'app'), { code: 0 })
  const [port = 0] = await freePorts(1)
  const args = ['--dir', project, '--port', String(port)]
  const { url } = await startOneProgram(t, args, variables, user.program)
  await untilServing(url, '')
  git('add', '-A')
  git('commit', '-q', '--allow-empty', '-m', 'set up')

  const replace = (line: number, by: string) => claude.shell(`sed -i 's/^line ${line}$/${by} ${line}/' a.txt`)
  const scripts = inTurns([
    [claude.write(join(project, 'one.txt'), 'one\n'), replace(3, 'one')],
    [replace(4, 'two'), claude.write(join(project, 'two.txt'), 'two\n')]
  ])
  const said = await Promise.all(scripts.map((script) => runSession(t, program!, script, project, variables)))
  const text = readFileSync(join(project, 'a.txt'), 'utf8')
  writeFileSync(join(project, 'a.txt'), text.replace('line 15\n', 'person 15\n'))

  // Each in a process of its own: it holds the lock of landings until its end.
  const land = async (...flags: string[]) => {
    const run = promisify(execFile)(process.execPath, [programPath, 'land', '--dir', project, ...flags], {
      env: variables
    })
    return (await run).stdout
  }
  const { agents } = JSON.parse(await land('--plan', '--json')) as {
    agents: { agent_id: string; paths: string[] }[]
  }
  const owner = (path: string) => agents.find(({ paths }) => paths.includes(path))?.agent_id ?? ''
  const [one, two] = [owner('one.txt'), owner('two.txt')]
  t.match([one, two], [/^claude-code\//, /^claude-code\//], `${JSON.stringify(agents)}\n${said.join('\n')}`)
  t.not(one, two)
  for (const [agent, name, line] of [
    [two, 'two', 4],
    [one, 'one', 3],
    ['external', 'person', 15]
  ] as const) {
    t.match(await land('--agent', agent, '-m', name), 'on main')
    const patch = git('show', '-U0', '--format=', 'HEAD').split('\n')
    const changed = patch.filter((text) => /^[-+][^-+]/.test(text))
    const ofFile = name === 'person' ? [] : [`+${name}`]
    t.same(changed, [`-line ${line}`, `+${name} ${line}`, ...ofFile])
  }
  t.equal(git('rev-list', '--count', 'HEAD').trim(), '5')
  t.equal(git('status', '--porcelain'), '')
})
