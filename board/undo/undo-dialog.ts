// Takes changes back, or an undo itself: first what that would do, then one button.
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../dialog.ts'
import { html } from '../html.ts'
import { CopyButton } from '../parts.ts'
import { curlOf } from '../server.ts'
import { counted } from '../words.ts'
import { isEmpty, type Choice } from './choice.ts'
import { ChoiceFields } from './choice-fields.ts'
import { PlanView } from './plan-view.ts'
import { planInput, planUndo, undo, undoInput, type Plan, type Terms } from './plan.ts'

export interface UndoDialogProps {
  readonly choice: Choice
  /** Changes that are an undo: taking them back is a redo. */
  readonly isRedo?: boolean
  /** All that are known. */
  readonly agents: readonly string[]
  readonly onEnd: () => void
}

/** Typing pauses for so long before the server is asked. */
const restMs = 300

export function UndoDialog({ choice: given, isRedo: isRedoGiven = false, agents, onEnd }: UndoDialogProps): VNode {
  const [choice, setChoice] = useState(given)
  const [isRedo, setRedo] = useState(isRedoGiven)
  const [terms, setTerms] = useState<Terms>({ partial: false, include_uncertain: false })
  const [done, setDone] = useState<Plan>()
  const [isSent, setSent] = useState(false)
  const { plan, trouble, setTrouble, planAgain } = usePlan(choice, terms)
  const isShort = plan === undefined || plan.undone === 0 || (plan.conflicts.length > 0 && !terms.partial)

  async function send(): Promise<void> {
    if (plan === undefined) return
    setSent(true)
    try {
      const answer = await undo(choice, plan, terms)
      if (answer.status === 'ok') setDone(answer)
      else planAgain('Another change was faster, and nothing was taken back. This is the plan now.')
    } catch (error) {
      setTrouble((error as Error).message)
    }
    setSent(false)
  }

  function lookAtRedo(): void {
    setChoice({ of_change_set: done?.change_set })
    setTerms({ partial: false, include_uncertain: false })
    setRedo(!isRedo)
    setDone(undefined)
  }

  const verb = isRedo ? 'Redo' : 'Take back'
  if (done !== undefined)
    return html`<${Dialog} title=${isRedo ? 'It is there again' : 'Taken back'} onEnd=${onEnd} isWide>
      <p role="status">${describeDone(done)}</p>
      <${PlanView} plan=${done} isDone />
      <div class="acts">
        <button type="button" class="primary" autofocus onClick=${onEnd}>Close</button>
        ${done.change_set !== undefined && html`<button type="button" onClick=${lookAtRedo}>${isRedo ? 'Take back again…' : 'Redo…'}</button>`}
      </div>
    <//>`
  const input = plan === undefined ? planInput(choice, terms) : undoInput(choice, plan, terms)
  return html`<${Dialog} title=${isRedo ? 'Redo what was taken back?' : 'Take changes back?'} onEnd=${onEnd} isWide>
    ${choice.versions === undefined && !isRedo && html`<${ChoiceFields} choice=${choice} agents=${agents} onChoice=${setChoice} />`}
    ${trouble !== '' && html`<p class="trouble" role="alert">${trouble}</p>`}
    <p role="status">
      ${isEmpty(choice) ? 'Say whose changes, of which task, or of which time.' : describePlan(plan, isRedo)}
    </p>
    ${plan !== undefined && html`<${PlanView} plan=${plan} terms=${terms} onTerms=${setTerms} />`}
    <div class="acts">
      <button type="button" class=${isRedo ? 'primary' : 'danger'} disabled=${isSent || isShort} onClick=${send}>
        ${plan === undefined || plan.undone === 0 ? verb : `${verb} ${counted(plan.undone, 'change')}`}
      </button>
      <button type="button" onClick=${onEnd}>Leave it</button>
      <${CopyButton} text=${() => curlOf('/async_undo', input)}>Copy as curl<//>
    </div>
  <//>`
}

/** Asked for anew when the choice changes. */
function usePlan(choice: Choice, { include_uncertain }: Terms) {
  const key = JSON.stringify([choice, include_uncertain])
  const [plan, setPlan] = useState<Plan>()
  const [trouble, setTrouble] = useState('')
  /** Why the same is planned once more. */
  const [again, setAgain] = useState({ key, round: 0, why: '' })
  const isFirst = useRef(true)
  useEffect(() => {
    let isMeant = true
    setPlan(undefined)
    setTrouble('')
    if (isEmpty(choice)) return undefined
    const ask = () =>
      planUndo(choice, { include_uncertain, partial: true }).then(
        (found) => isMeant && setPlan(found),
        (error: Error) => isMeant && setTrouble(error.message)
      )
    const timer = setTimeout(ask, isFirst.current ? 0 : restMs)
    isFirst.current = false
    return () => {
      isMeant = false
      clearTimeout(timer)
    }
  }, [key, again.round])
  return {
    plan,
    trouble: trouble !== '' || again.key !== key ? trouble : again.why,
    setTrouble,
    planAgain: (why: string) => setAgain({ key, round: again.round + 1, why })
  }
}

function describePlan(plan: Plan | undefined, isRedo: boolean): string {
  if (plan === undefined) return 'Looking at what would change…'
  const { undone, files, conflicts, message = '' } = plan
  if (undone === 0 && conflicts.length === 0) return message
  const what = isRedo ? 'would be made again' : 'would be taken back'
  return `${counted(undone, 'change')} in ${counted(files.length, 'file')} ${what}. What others have changed on other lines stays.`
}

function describeDone({ undone, files, change_set }: Plan): string {
  const set = change_set === undefined ? '' : ` The history has it as ${change_set}.`
  return `${counted(undone, 'change')} in ${counted(files.length, 'file')}.${set}`
}
