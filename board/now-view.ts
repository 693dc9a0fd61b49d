// Now: the agents, the files in use, who waits for whom; and what is known of the chosen one.
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { formatAddress, type OnHistory } from './address.ts'
import { go } from './use-address.ts'
import { AgentDetail } from './agent-detail.ts'
import { Detail } from './detail.ts'
import { FileDetail } from './file-detail.ts'
import { html } from './html.ts'
import { JustNow } from './just-now.ts'
import { List } from './list.ts'
import { listAgents, partSilent, type Agent } from './agents.ts'
import { shortenerOf, waitedForFirst, type LockedFile } from './model.ts'
import { AgentRow, FileRow, takenInAgent, takenInFile } from './now-rows.ts'
import { Name, Path, Time, useNow } from './parts.ts'
import type { State, Store } from './store.ts'
import type { OnUndo } from './undo/choice.ts'
import { findWaits } from './wait-graph.ts'
import { WaitGraphView } from './wait-graph-view.ts'

const maxEdges = 60
const shownCircles = 3
/** A refused circle is news for so long, in milliseconds. */
const circleMs = 10 * 60_000

interface Choice {
  readonly kind: 'agent' | 'file'
  readonly name: string
}

export function NowView(props: {
  state: State
  store: Store
  /** What is chosen: an agent or a file. */
  query: Readonly<Record<string, string>>
  onHistory: OnHistory
  onUndo: OnUndo
}): VNode {
  const { state, store, query, onHistory, onUndo } = props
  const { roots } = state
  const now = useNow()
  const choice = toChoice(query)
  const files = state.locks?.files ?? noFiles
  const short = shortenerOf(roots)
  const agents = useMemo(
    () => listAgents(files, state.activity?.agents ?? [], short),
    [state.locks, state.activity, roots]
  )
  const sorted = useMemo(() => waitedForFirst(files), [state.locks])
  const graph = useMemo(() => findWaits(files, maxEdges), [state.locks])
  const circles = (state.activity?.refused_circles ?? [])
    .filter(({ at }) => now - Date.parse(at) < circleMs)
    .slice(0, shownCircles)
  const { active, silent } = partSilent(agents, now)
  const areAllShown = query['silent'] === 'shown'
  const [onAgent, onFile, onFold] = choosersOf(query)
  const agent = choice?.kind === 'agent' ? agents.find(({ name }) => name === choice.name) : undefined
  const file = choice?.kind === 'file' ? files.find(({ path }) => path === choice.name) : undefined
  const detail = {
    agent: () =>
      html`<${AgentDetail}
        agent=${agent}
        now=${now}
        short=${short}
        onFile=${onFile}
        onHistory=${onHistory}
        task=${state.timeline.findLast((line) => line.agent === choice?.name && line.changeSet !== undefined)?.changeSet}
        onUndo=${onUndo}
      />`,
    file: () =>
      html`<${FileDetail}
        file=${file}
        path=${choice?.name}
        now=${now}
        short=${short}
        store=${store}
        onAgent=${onAgent}
        onHistory=${onHistory}
        latest=${state.timeline.findLast(({ path }) => path === choice?.name)?.key}
        onUndo=${onUndo}
      />`
  }
  return html`<div class="now">
    <section class="panel" aria-labelledby="agents-title">
      <h2 id="agents-title">Agents <span class="count">${agents.length}</span></h2>
      <${List}
        id="agents"
        label="Agents"
        items=${areAllShown ? [...active, ...silent] : active}
        keyOf=${({ name }: Agent) => name}
        chosen=${agent?.name}
        onChoose=${({ name }: Agent) => onAgent(name)}
        pathIn=${(each: Agent) => ({ path: each.path, taken: takenInAgent(each) })}
        row=${(each: Agent, text: string) => html`<${AgentRow} agent=${each} text=${text} now=${now} />`}
        empty=${
          silent.length > 0
            ? html`<p>No agent has called for five minutes.</p>`
            : html`<p>No agent has called yet.</p>
                <p>
                  Add the server to an agent with the command <code>setup</code>, or give a call an
                  <code>agent_id</code>.
                </p>`
        }
      />
      ${
        silent.length > 0 &&
        html`<p class="foot">
          <button type="button" class="link dim" aria-expanded=${areAllShown} onClick=${onFold}>
            ${silent.length} silent for more than five minutes
          </button>
        </p>`
      }
    </section>
    <section class="panel" aria-labelledby="files-title">
      <h2 id="files-title">
        Files in use <span class="count">${state.locks?.counts.files ?? 0}</span>
        ${state.locks?.truncated === true && html`<span class="hint"> the first ${files.length} are shown</span>`}
      </h2>
      <${List}
        id="files"
        label="Files in use"
        items=${sorted}
        keyOf=${({ path }: LockedFile) => path}
        chosen=${file?.path}
        onChoose=${({ path }: LockedFile) => onFile(path)}
        pathIn=${(each: LockedFile) => ({ path: short(each.path), taken: takenInFile(each) })}
        row=${(each: LockedFile, text: string) => html`<${FileRow} file=${each} text=${text} now=${now} short=${short} />`}
        empty=${html`<p>No file is held, and no call waits.</p>
          <p>
            Single changes hold a file for a few milliseconds. An agent that calls <code>lock_try</code> keeps it here.
          </p>`}
      />
    </section>
    <${Detail} of=${choice && `${choice.kind} ${choice.name}`}>
      ${
        choice === undefined
          ? html`<${JustNow}
              state=${state}
              now=${now}
              short=${short}
              onPath=${(path: string) => onHistory({ path })}
            />`
          : detail[choice.kind]()
      }
    <//>
    ${
      (graph.edges.length > 0 || circles.length > 0) &&
      html`<section class="panel waits" aria-labelledby="waits-title">
        <h2 id="waits-title">Who waits for whom</h2>
        ${graph.edges.length > 0 && html`<${WaitGraphView} graph=${graph} short=${short} onAgent=${onAgent} />`}
        ${circles.map(
          ({ at, waits }, index) =>
            html`<p class="circle" key=${at + index}>
              <strong>Refused circle</strong> <${Time} at=${Date.parse(at)} now=${now} />:${' '}
              ${waits.map(
                ({ agent_id, waits_for }, step) =>
                  html`<span key=${step}><${Name} name=${agent_id} /> → <${Path} path=${short(waits_for)} /> → </span>`
              )}<${Name} name=${waits[0]?.agent_id ?? ''} />
            </p>`
        )}
      </section>`
    }
  </div>`
}

/** Lead to an agent and to a file, and fold the silent agents or show them; the rest of the address stays. */
function choosersOf({ silent, ...chosen }: Readonly<Record<string, string>>) {
  const onAgent = (agent: string): void => go(formatAddress('now', { agent, silent }))
  const onFile = (file: string): void => go(formatAddress('now', { file, silent }))
  const onFold = (): void => go(formatAddress('now', { ...chosen, silent: silent === undefined ? 'shown' : undefined }))
  return [onAgent, onFile, onFold] as const
}

function toChoice({ agent, file }: Readonly<Record<string, string>>): Choice | undefined {
  if (agent !== undefined) return { kind: 'agent', name: agent }
  return file === undefined ? undefined : { kind: 'file', name: file }
}

const noFiles: readonly LockedFile[] = []
