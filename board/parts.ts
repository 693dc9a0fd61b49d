// Small pieces that several views share: paths, names, times, buttons that copy.
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ModeFacts } from '../schemas/common.ts'
import { html } from './html.ts'
import { nameOf } from './names.ts'
import { serverNow } from './server.ts'
import { ago, exactTime } from './time.ts'

/** The folder in grey, the name in black. @param text what of it has room */
export function Path({ path, text = path }: { path: string; text?: string }): VNode {
  const at = text.lastIndexOf('/') + 1
  return html`<span class="path" title=${path}
    ><bdi><span class="folder">${text.slice(0, at)}</span>${text.slice(at)}</bdi></span
  >`
}

/** The name of an agent, which may be anything: kept apart from the text around it, in its own direction. */
export function Name({ name, isWhole = false }: { name: string; isWhole?: boolean }): VNode {
  return html`<bdi class=${name === 'external' ? 'name outside' : 'name'} title=${name}
    >${isWhole ? name : nameOf(name)}</bdi
  >`
}

/** The permission bits of a file, if a change was about them. */
export function Mode({ of: { previous_mode, mode } }: { of: Partial<ModeFacts> }): VNode | null {
  return mode === undefined ? null : html`<span class="dim">${`mode ${previous_mode ?? '?'} → ${mode}`}</span>`
}

/** Relative, with the exact time as its title and for screen readers. */
export function Time({ at, now }: { at: number; now: number }): VNode {
  return html`<time datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${ago(at, now)}</time>`
}

/** The server's time, anew every second while the page is looked at. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow())
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow())
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  return Math.max(now, serverNow() - 1000)
}

export function CopyButton({ text, children }: { text: () => string; children: ComponentChildren }): VNode {
  const [said, say] = useState('')
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text())
      say('copied')
    } catch {
      // Without the permission, or without TLS beyond loopback: shown, to be copied by hand.
      prompt('Copy this line:', text())
    }
    setTimeout(() => say(''), 2000)
  }
  return html`<button type="button" class="quiet" onClick=${copy}>
    ${children}<span role="status" class="said">${said === '' ? '' : ` ${said}`}</span>
  </button>`
}
