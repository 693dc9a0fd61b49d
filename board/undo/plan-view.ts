// What an undo would make of each file, or has made: what comes back, what of others stays, what is in the way.
import type { VNode } from 'preact'
import { DiffView } from '../diff-view.ts'
import { html } from '../html.ts'
import { Mode, Name, Path } from '../parts.ts'
import { countLines } from '../unified.ts'
import { useAnswer } from '../use-answer.ts'
import { hunksOf, staysIn, type Plan, type PlannedFile, type Terms } from './plan.ts'

interface Props {
  readonly plan: Plan
  readonly terms?: Terms
  readonly onTerms?: (terms: Terms) => void
  readonly isDone?: boolean
}

const maxFiles = 200
const maxConflicts = 50
/** Of so many files it is asked whose lines stay. */
const maxAsked = 30

export function PlanView({ plan, terms, onTerms, isDone = false }: Props): VNode {
  const { files, conflicts, uncertain = 0, forgotten_before } = plan
  const box = (name: keyof Terms, words: string) =>
    terms !== undefined &&
    html`<label class="term">
      <input
        type="checkbox"
        checked=${terms[name]}
        onChange=${() => onTerms?.({ ...terms, [name]: !terms[name] })}
      />${words}</label
    >`
  return html`<div class="plan">
    ${
      conflicts.length > 0 &&
      html`<h3>${isDone ? 'Left as it is' : 'In the way'} (${conflicts.length})</h3>
        <ul class="plain">
          ${conflicts.slice(0, maxConflicts).map((conflict, index) => html`<${ConflictRow} key=${index} conflict=${conflict} />`)}
        </ul>
        ${conflicts.length > maxConflicts && html`<p class="hint">and ${conflicts.length - maxConflicts} more</p>`}
        ${files.length > 0 && box('partial', 'Leave these, and take back the rest.')}`
    }
    ${
      (uncertain > 0 || terms?.include_uncertain === true) &&
      box(
        'include_uncertain',
        uncertain > 0
          ? `Take ${uncertain} more along, which another may have made.`
          : 'With those that another may have made.'
      )
    }
    ${files.length > 0 && html`<h3>${isDone ? 'Changed' : 'What would change'} (${files.length})</h3>`}
    ${files
      .slice(0, maxFiles)
      .map((file, index) => html`<${FileRow} key=${file.path} file=${file} isAsked=${!isDone && index < maxAsked} />`)}
    ${files.length > maxFiles && html`<p class="hint">and ${files.length - maxFiles} more files</p>`}
    ${forgotten_before !== undefined && html`<p class="hint">What was changed before ${new Date(forgotten_before).toLocaleString()} is not all known any more.</p>`}
  </div>`
}

function FileRow({ file, isAsked }: { file: PlannedFile; isAsked: boolean }): VNode {
  const hunks = hunksOf(file)
  const { path, new_path, changes } = file
  const { answer: stays } = useAnswer(
    isAsked ? () => staysIn(file) : undefined,
    `${path} ${file.previous_hash} ${file.hash}`
  )
  const counts = hunks === undefined ? undefined : countLines(hunks)
  const head = html`<${Path}
      path=${path}
    />${new_path !== undefined && html`<span class="dim">→</span><${Path} path=${new_path} />`}
    <span class=${`kind ${kindOf(file)}`}>${effects[kindOf(file)]}</span>
    ${counts !== undefined && html`<span class="counts"><span class="plus">+${counts.added}</span><span class="minus">−${counts.removed}</span></span>`}
    <${Mode} of=${file} />
    ${changes > 1 && html`<span class="dim">${changes} changes</span>`}
    ${
      stays !== undefined &&
      stays.length > 0 &&
      html`<span class="dim stays"
        >stays:${' '}${stays.map(
          ({ agent, lines }, index) =>
            html`${index > 0 ? ', ' : ''}<${Name} name=${agent} />${` ${lines} ${lines === 1 ? 'line' : 'lines'}`}`
        )}</span
      >`
    }`
  if (hunks === undefined || hunks.length === 0) return html`<div class="planned">${head}</div>`
  return html`<details>
    <summary class="planned">${head}</summary>
    <${DiffView} hunks=${hunks} isSplit=${false} of=${path} />
  </details>`
}

const effects = { created: 'comes back', deleted: 'goes', renamed: 'gets its name back', changed: 'changes' }

function kindOf({ previous_hash, hash, new_path }: PlannedFile): keyof typeof effects {
  if (hash === null) return 'deleted'
  if (previous_hash === null) return 'created'
  return new_path === undefined ? 'changed' : 'renamed'
}

function ConflictRow({ conflict }: { conflict: Plan['conflicts'][number] }): VNode {
  const { message, merge_conflicts = [] } = conflict
  return html`<li>
    <span class="wrap">${message}</span>
    ${merge_conflicts.slice(0, 10).map(
      ({ base, current, incoming }, index) =>
        html`<dl class="sides" key=${index}>
          <dt>to be taken back</dt>
          <dd>${base.content}</dd>
          <dt>there now</dt>
          <dd>${current.content}</dd>
          <dt>would come back</dt>
          <dd>${incoming.content}</dd>
        </dl>`
    )}
  </li>`
}
