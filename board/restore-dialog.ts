// Brings a version back, after a look at what that would do. Nothing is written over a version that was not looked at.
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Dialog } from './dialog.ts'
import { DiffView } from './diff-view.ts'
import { html } from './html.ts'
import type { HistoryVersion } from './model.ts'
import { CopyButton, Name } from './parts.ts'
import { call, curlOf } from './server.ts'
import { clockTime } from './time.ts'
import { countLines, type Hunk } from './unified.ts'
import { diffOf, presentOf, type Present } from './versions.ts'

interface Props {
  readonly path: string
  readonly shown: string
  readonly version: HistoryVersion
  readonly isSplit: boolean
  readonly onEnd: (isRestored: boolean) => void
}

export function RestoreDialog({ path, shown, version, isSplit, onEnd }: Props): VNode {
  const [present, setPresent] = useState<Present>()
  const [hunks, setHunks] = useState<readonly Hunk[]>()
  const [trouble, setTrouble] = useState('')
  const [isSent, setSent] = useState(false)
  const [look, lookAgain] = useState(0)
  const hash = version.hash ?? ''
  // A person restores: the server need not know this name from anywhere.
  const input = { path, hash, agent_id: 'board', ...(present?.exists === true && { expected_hash: present.hash }) }

  useEffect(() => {
    const dry = async () => {
      const found = await presentOf(path)
      setPresent(found)
      if (!found.exists || found.hash === null) return setHunks([])
      setHunks(found.hash === hash ? [] : await diffOf(path, found.hash, hash))
    }
    dry().catch((error: Error) => setTrouble(`What would change cannot be shown: ${error.message}`))
  }, [look])

  async function send(): Promise<void> {
    setSent(true)
    try {
      const { status, message = '' } = await call<{ status: string; message?: string }>('async_restore', input)
      if (status === 'ok') return onEnd(true)
      setTrouble(message)
    } catch (error) {
      setTrouble((error as Error).message)
    }
    setSent(false)
    lookAgain(look + 1)
  }

  return html`<${Dialog} title="Restore this version?" onEnd=${() => onEnd(false)} isWide>
    <p>
      <code class="wrap">${shown}</code>${' as '}<${Name}
        name=${version.agent_id ?? 'it was before'}
      />${` left it at ${clockTime(Date.parse(version.at))}. ${describe(present, hunks, hash)}`}
    </p>
    ${hunks !== undefined && hunks.length > 0 && html`<${DiffView} hunks=${hunks} isSplit=${isSplit} />`}
    ${trouble !== '' && html`<p class="trouble" role="alert">${trouble}</p>`}
    <div class="acts">
      <button
        type="button"
        class="primary"
        autofocus
        disabled=${isSent || present === undefined || present.hash === hash}
        onClick=${send}
      >
        Restore
      </button>
      <button type="button" onClick=${() => onEnd(false)}>Leave it</button>
      <${CopyButton} text=${() => curlOf('/async_restore', input)}>Copy as curl<//>
    </div>
  <//>`
}

function describe(present: Present | undefined, hunks: readonly Hunk[] | undefined, hash: string): string {
  if (present === undefined) return 'Looking at what is there now…'
  if (!present.exists) return 'There is no such file now: it would be created again.'
  if (present.hash === hash) return 'That is the present version already.'
  if (hunks === undefined) return ''
  const { added, removed } = countLines(hunks)
  return `This is what would change: ${added} lines would come, ${removed} would go. The present version stays in the history.`
}
