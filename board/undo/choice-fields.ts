// The fields that say which changes are taken back: whose, of which task, of which time, in which files.
import type { VNode } from 'preact'
import { html } from '../html.ts'
import { nameOf } from '../names.ts'
import { TimeFields } from '../time-fields.ts'
import { useAnswer } from '../use-answer.ts'
import type { Choice } from './choice.ts'
import { tasksOf, type Task } from './plan.ts'

interface Props {
  readonly choice: Choice
  readonly agents: readonly string[]
  readonly onChoice: (choice: Choice) => void
}

const maxNames = 500

export function ChoiceFields({ choice, agents, onChoice }: Props): VNode {
  const { by_agent, of_change_set, since, until, paths } = choice
  const { answer: tasks = [] } = useAnswer(() => tasksOf(by_agent), by_agent ?? '')
  const set = (part: Choice) => onChoice({ ...choice, ...part })
  const names = [...new Set([...(by_agent === undefined ? [] : [by_agent]), ...agents])].slice(0, maxNames)
  const sets = [...new Set([...(of_change_set === undefined ? [] : [of_change_set]), ...tasks.map(({ name }) => name)])]
  const text = (event: Event) => (event.target as HTMLInputElement).value
  const orNone = (value: string) => (value === '' ? undefined : value)
  return html`<div class="choice">
    <label
      >Whose
      <select
        value=${by_agent ?? ''}
        onChange=${(event: Event) => set({ by_agent: orNone(text(event)), of_change_set: undefined })}
      >
        <option value="">anybody's</option>
        ${names.map((name) => html`<option key=${name} value=${name}>${nameOf(name)}</option>`)}
      </select>
    </label>
    <label
      >Task
      <select value=${of_change_set ?? ''} onChange=${(event: Event) => set({ of_change_set: orNone(text(event)) })}>
        <option value="">all</option>
        ${sets.map((name) => html`<option key=${name} value=${name}>${describe(name, tasks)}</option>`)}
      </select>
    </label>
    <label
      >Files
      <input
        value=${paths?.[0] ?? ''}
        placeholder="all, or src/**"
        spellcheck=${false}
        onInput=${(event: Event) => set({ paths: text(event).trim() === '' ? undefined : [text(event).trim()] })}
      />
    </label>
    <${TimeFields} period=${{ since, until }} onPeriod=${set} />
  </div>`
}

function describe(name: string, tasks: readonly Task[]): string {
  const task = tasks.find((each) => each.name === name)
  if (task === undefined) return name
  const what = task.command ?? name
  return `${what.length > 60 ? `${what.slice(0, 59)}…` : what} (${task.changes})`
}
