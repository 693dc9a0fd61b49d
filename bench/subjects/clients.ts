// What real MCP clients show their models of an answer: the structured content, the text, or both.
import { createJournal } from '../../src/program/setup/journal.ts'
import { findClient } from '../../src/program/setup/options.ts'
import { planClient } from '../../src/program/setup/plan-client.ts'
import { startModelStandIn } from '../../test/fixtures/model-stand-in.ts'
import {
  findProgram,
  makeClientHome,
  realClients,
  runClient,
  versionOf,
  type RealClient
} from '../../test/fixtures/real-clients.ts'
import { marks, probePath, probes } from '../clients/probe-server.ts'
import type { Options } from '../options.ts'
import { withOwner, type Owner } from '../owner.ts'
import { printTable } from '../table.ts'

const names = Object.keys(probes)

interface Seen {
  readonly client: string
  /** What the client says of itself in the handshake. */
  readonly self: string
  /** What its model was shown, in the order of the probes. */
  readonly shown: readonly string[]
}

/** @param argument folders of the programs, as PATH lists them; by default that of `npm run clients` */
export async function clients({ argument }: Options): Promise<void> {
  console.log('\n## clients: what a model is shown of an answer over MCP')
  const seen: Seen[] = []
  for (const client of realClients) {
    const program = findProgram(client.command, argument)
    if (program === undefined) console.log(`skipped: ${client.command} is not installed (npm run clients)`)
    else seen.push(await withOwner((owner) => look(owner, client, program)))
  }
  if (seen.length === 0) return
  printTable(
    'By the parts of the answer',
    ['client', ...seen.map(({ client }) => client)],
    [
      ['names itself', ...seen.map(({ self }) => self)],
      ...names.map((name, index) => [name.replaceAll('_', ' '), ...seen.map(({ shown }) => shown[index] ?? 'nothing')])
    ]
  )
}

async function look(owner: Owner, client: RealClient, program: string): Promise<Seen> {
  const version = await versionOf(owner, program)
  const steps = ['who_asks', ...names]
  const answersByStep: string[] = []
  const { url } = await startModelStandIn(owner, (answers) => {
    answersByStep.splice(0, answersByStep.length, ...answers)
    const tool = steps[answers.length]
    return tool === undefined ? 'done' : { tool, input: {} }
  })
  const { home, variables } = makeClientHome(owner)
  const task = client.prepare({ home, project: home, modelUrl: url })
  addProbe(client, home)
  const said = await runClient(owner, program, task, { folder: home, variables })
  const [self = '', ...shown] = answersByStep
  if (shown.length < names.length) console.log(`${client.command} stopped early: ${said.trim().slice(-2000)}`)
  if (process.env['BENCH_VERBOSE'] !== undefined) console.log(JSON.stringify(answersByStep, null, 2))
  const { name = '?', version: own = '' } = /"clientInfo":(\{.*?\})/.exec(self.replaceAll('\\"', '"'))?.[1]
    ? (JSON.parse(/"clientInfo":(\{.*?\})/.exec(self.replaceAll('\\"', '"'))?.[1] ?? '{}') as Self)
    : {}
  return { client: `${client.command} ${version}`, self: `${name} ${own}`.trim(), shown: shown.map(describe) }
}

/** In the place of our server. */
function addProbe({ name }: RealClient, home: string): void {
  const plans = planClient(findClient(name), {
    launch: { transport: 'stdio', command: process.execPath, args: [probePath] },
    user: { platform: process.platform, home, environment: {} },
    journal: createJournal(home),
    hasHooks: false
  })
  for (const plan of plans) plan.apply()
}

interface Self {
  readonly name?: string
  readonly version?: string
}

/** Which marks are in it, and whether the text is still as it was. */
function describe(shown: string): string {
  const parts = [
    ...(shown.includes(marks.structured) ? ['structured'] : []),
    ...(shown.includes(marks.text) ? ['text'] : shown.includes('text-mark') ? ['text in JSON'] : []),
    ...(shown.includes(marks.second) ? ['second text'] : [])
  ]
  return parts.length === 0 ? 'nothing' : parts.join(' + ')
}
