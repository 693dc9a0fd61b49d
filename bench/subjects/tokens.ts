// What a day's work costs a model: one story of an agent, with this server, the reference server, and the tools of Claude Code. In tokens by o200k.
import { claude, findProgram, versionOf } from '../../test/fixtures/real-clients.ts'
import type { Options } from '../options.ts'
import { withOwner, type Owner } from '../owner.ts'
import { installPackages, loadTokenCounter, packageVersion, type PackageName } from '../peers/packages.ts'
import { ours, reference } from '../peers/servers.ts'
import { clientForms, type ClientForm } from '../story/client-forms.ts'
import { playWithClaudeCode } from '../story/claude-code.ts'
import { playWithNativeTools } from '../story/native-agent.ts'
import { nativeClient } from '../story/native-tools.ts'
import { ourAgent } from '../story/our-agent.ts'
import { playOverMcp, type Exchange, type Given, type Played } from '../story/play.ts'
import { fieldCounts, lineCount, usualFieldCount } from '../story/project.ts'
import { referenceAgent, rules } from '../story/reference-agent.ts'
import { story } from '../story/story.ts'
import { percent, printTable, whole, type Row } from '../table.ts'

export type Count = (text: string) => number

/** The story as one of its players told it. */
export interface Told extends Played {
  readonly player: string
  readonly tokens: number
}

export const storyPackages = [
  '@modelcontextprotocol/server-filesystem',
  'js-tiktoken'
] as const satisfies readonly PackageName[]

/** @param argument folders as PATH lists them, to look for Claude Code in */
export async function tokens({ argument }: Options): Promise<void> {
  console.log('\n## tokens: one story of an agent, by what its model writes and reads')
  const failure = installPackages(storyPackages)
  if (failure !== undefined) return console.log(`\nskipped: there is nothing to compare with. ${failure}`)
  const count = loadTokenCounter()
  const [server] = storyPackages
  console.log(`\n${server} ${packageVersion(server)}, ${nativeClient}; tokens by o200k`)
  for (const client of clientForms) printStory(client, await tellAll(client, usualFieldCount, count), count)
  await printLengths(count)
  const program = argument === undefined ? undefined : findProgram(claude.command, argument)
  if (program !== undefined) await printCheck(program, count)
}

/** Our server comes first. */
export async function tellAll(client: ClientForm, fieldCount: number, count: Count): Promise<Told[]> {
  const tell = async (player: string, play: (given: Given) => Promise<Played>): Promise<Told> => {
    const played = await withOwner((owner) => play({ owner, client, fieldCount }))
    return { ...played, player, tokens: tokensOf(played.exchanges, count) }
  }
  const told = [await tell('this server', (given) => playOverMcp(given, ours, 'async-crud-mcp', ourAgent))]
  for (const rule of rules) {
    const play = (given: Given) => playOverMcp(given, reference, 'filesystem', referenceAgent(rule))
    told.push(await tell(`reference, ${rule}`, play))
  }
  if (client.hasNativeTools) told.push(await tell('native tools', playWithNativeTools))
  return told
}

/** The cheapest way with the reference server whose files are right in the end: with those of ours it is what compares. */
export function cheapestRight(told: readonly Told[]): Told | undefined {
  const right = told.filter(({ player, wrongLines }) => player.startsWith('reference') && wrongLines === 0)
  return right.toSorted((a, b) => a.tokens - b.tokens)[0]
}

function tokensOf(exchanges: readonly Exchange[], count: Count): number {
  return exchanges.reduce((sum, { wrote, read }) => sum + count(wrote) + count(read), 0)
}

function printStory({ name }: ClientForm, told: readonly Told[], count: Count): void {
  const row = (title: string, cell: (told: Told) => string): Row => [title, ...told.map(cell)]
  const own = told[0]?.tokens ?? NaN
  const withSession = (each?: Told) => (each?.session === undefined ? NaN : each.tokens + count(each.session))
  const steps = [...new Set(story.map(({ title }) => title))].map((title) =>
    row(title, ({ exchanges }) =>
      whole(
        tokensOf(
          exchanges.filter((exchange) => exchange.title === title),
          count
        )
      )
    )
  )
  printTable(
    `as a model of ${name} writes and reads it`,
    ['step', ...told.map(({ player }) => player)],
    [
      ...steps,
      row('**the story**', (each) => `**${whole(each.tokens)}**`),
      row('this server, of it', (each) => percent(own / each.tokens)),
      row('of it written by the model', ({ exchanges }) =>
        whole(exchanges.reduce((sum, { wrote }) => sum + count(wrote), 0))
      ),
      row('calls', ({ exchanges }) => whole(exchanges.length)),
      row('wrong lines in the end', ({ wrongLines }) => whole(wrongLines)),
      row('once a session: tools, instructions', ({ session }) =>
        session === undefined ? '-' : whole(count(session))
      ),
      row('this server with them, of it', (each) => percent(withSession(told[0]) / withSession(each)))
    ]
  )
}

/** Longer files cost more to read a first time, too: how far that decides. */
async function printLengths(count: Count): Promise<void> {
  const [client] = clientForms
  const rows: Row[] = []
  for (const fieldCount of fieldCounts) {
    const told = await tellAll(client, fieldCount, count)
    const own = told[0]?.tokens ?? NaN
    const others = [cheapestRight(told), ...told.filter(({ player }) => /at once|native/.test(player))]
    rows.push([
      whole(lineCount(fieldCount)),
      whole(own),
      ...others.flatMap((each) => [whole(each?.tokens ?? NaN), percent(own / (each?.tokens ?? NaN))])
    ])
  }
  const head = ['reference, cheapest right', 'of it', 'reference, at once', 'of it', 'native tools', 'of it']
  printTable(`by the length of files (${client.name})`, ['lines a file', 'this server', ...head], rows)
}

/** The forms of the native tools against the program that has them. */
async function printCheck(program: string, count: Count): Promise<void> {
  const [client] = clientForms
  const rows: Row[] = []
  for (const fieldCount of fieldCounts) {
    const given = (owner: Owner): Given => ({ owner, client, fieldCount })
    const forms = await withOwner((owner) => playWithNativeTools(given(owner)))
    const itself = await withOwner((owner) => playWithClaudeCode(given(owner), program))
    const cells = [forms, itself].map(({ exchanges }) => [tokensOf(exchanges, count), exchanges.length])
    rows.push([lineCount(fieldCount), ...cells.flat(), itself.wrongLines].map(whole))
  }
  const name = `Claude Code ${await withOwner((owner) => versionOf(owner, program))}`
  const head = ['lines a file', 'by the forms', 'calls', `by ${name}`, 'calls', 'wrong lines']
  printTable(`the forms of the native tools, and ${name} itself`, head, rows)
}
