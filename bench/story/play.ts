// Plays the story with one server over stdio, as a user of that server starts it, and keeps what its model writes and reads.
import { structuredPatch } from 'diff'
import { makeTree, type Tree } from '../../test/fixtures/tree.ts'
import type { Owner } from '../owner.ts'
import { startRaw } from '../peers/connect.ts'
import type { PeerServer } from '../peers/servers.ts'
import { listShown, type ClientForm, type Shown, type ToolList, type ToolResult } from './client-forms.ts'
import { projectFiles } from './project.ts'
import { applied, outcome, story, type Edit, type Step } from './story.ts'

export interface Exchange {
  /** Of its step. */
  readonly title: string
  readonly wrote: string
  readonly read: string
}

export interface Played {
  readonly exchanges: readonly Exchange[]
  /** The list of tools and the instructions, which a model gets once a session. Those of the client itself are there anyhow. */
  readonly session?: string
  /** Lines of the files that are not what both agents wanted. */
  readonly wrongLines: number
}

export type Play = (step: Step) => Promise<void>

/** A call of the agent. @returns what its model is shown */
export type Ask = (name: string, input: object) => Promise<Shown>

/** A call of the other agent, not counted. @returns the answer's text */
export type AskAside = (name: string, input: object) => Promise<string>

export interface McpScene {
  readonly tree: Tree
  readonly ask: Ask
  readonly askAside: AskAside
}

export interface Given {
  readonly owner: Owner
  readonly client: ClientForm
  readonly fieldCount: number
}

/** @param entry the name of the server in the client's settings */
export async function playOverMcp(
  { owner, client, fieldCount }: Given,
  server: PeerServer,
  entry: string,
  agent: (scene: McpScene) => Play
): Promise<Played> {
  const { tree, tell, play } = begin(owner, fieldCount)
  const { request, initialized } = await startRaw(owner, server, tree.root, client.name)
  const send = async (method: string, params: object) =>
    (JSON.parse((await request(method, params)).toString()) as { readonly result: unknown }).result
  const call = async (name: string, input: object) =>
    client.shown((await send('tools/call', { name, arguments: input })) as ToolResult)
  const instructions = (initialized as { readonly instructions?: string }).instructions ?? ''
  const tools = listShown((await send('tools/list', {})) as ToolList)
  const played = await play(
    agent({
      tree,
      async ask(name, input) {
        const answer = await call(name, input)
        tell(`${client.called(entry, name)} ${JSON.stringify(input)}`, answer.shown)
        return answer
      },
      askAside: async (name, input) => (await call(name, input)).shown
    })
  )
  return { ...played, session: `${tools}\n${instructions}` }
}

/** Where people have their projects: the name of a temporary folder would cost other tokens in each run. */
const usualRoot = '/home/ann/shop'

/** A tree with the project in it, and what the player of the story tells. */
export function begin(owner: Owner, fieldCount: number) {
  const files = projectFiles(fieldCount)
  const tree = makeTree(owner, files)
  const exchanges: Exchange[] = []
  const plain = (text: string) => text.replaceAll(tree.root, usualRoot)
  let title = ''
  return {
    tree,
    tell: (wrote: string, read: string) => void exchanges.push({ title, wrote: plain(wrote), read: plain(read) }),
    play: async (agent: Play): Promise<Played> => {
      for (const step of story) {
        title = step.title
        await agent(step)
      }
      return { exchanges, wrongLines: countWrongLines(tree, outcome(files)) }
    }
  }
}

/** The other agent's change without this server. */
export function changeOnDisk(tree: Tree, edit: Edit): void {
  tree.write(edit.path, applied(tree.read(edit.path), edit))
}

function countWrongLines(tree: Tree, wanted: Readonly<Record<string, string>>): number {
  const counts = Object.entries(wanted).map(([path, text]) => {
    const lines = structuredPatch('', '', text, tree.read(path)).hunks.flatMap((hunk) => hunk.lines)
    const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
    return Math.max(count('-'), count('+'))
  })
  return counts.reduce((sum, count) => sum + count, 0)
}
