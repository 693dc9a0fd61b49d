// Ends the leases on a file against the will of their holders, for a reason that they are told.
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog.ts'
import { html } from './html.ts'
import type { Holder } from './model.ts'
import { CopyButton, Name } from './parts.ts'
import { call, curlOf } from './server.ts'

interface Props {
  readonly path: string
  readonly shown: string
  readonly leases: readonly Holder[]
  readonly onEnd: () => void
}

export function BreakDialog({ path, shown, leases, onEnd }: Props): VNode {
  const [reason, setReason] = useState('')
  const [trouble, setTrouble] = useState('')
  const [isSent, setSent] = useState(false)
  const input = { filepaths: [path], reason: reason.trim() }

  async function send(event: Event): Promise<void> {
    event.preventDefault()
    setSent(true)
    try {
      await call('lock_break', input)
      onEnd()
    } catch (error) {
      setTrouble((error as Error).message)
      setSent(false)
    }
  }

  return html`<${Dialog} title="Break the lease?" onEnd=${onEnd}>
    <p>
      ${leases.map(({ agent_id }, index) => html`${index > 0 ? ', ' : ''}<${Name} name=${agent_id ?? ''} />`)} will lose
      ${' '}<code class="wrap">${shown}</code>. Changes under way are finished; the holder is told the reason, and must
      read the file before it changes it again. The next in the queue gets the file.
    </p>
    <form onSubmit=${send}>
      <label
        >Reason, for the holder
        <input
          name="reason"
          required
          maxlength="500"
          autofocus
          value=${reason}
          onInput=${(event: Event) => setReason((event.target as HTMLInputElement).value)}
        />
      </label>
      ${trouble !== '' && html`<p class="trouble" role="alert">${trouble}</p>`}
      <div class="acts">
        <button type="submit" class="danger" disabled=${isSent || input.reason === ''}>Break the lease</button>
        <button type="button" onClick=${onEnd}>Leave it</button>
        <${CopyButton} text=${() => curlOf('/lock_break', input)}>Copy as curl<//>
      </div>
    </form>
  <//>`
}
