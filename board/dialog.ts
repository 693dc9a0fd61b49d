// A question that must be answered before anything else: the browser's own dialog keeps the focus within, and ends with Escape.
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'

interface DialogProps {
  readonly title: string
  readonly onEnd: () => void
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

export function Dialog({ title, onEnd, isWide = false, children }: DialogProps): VNode {
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => box.current?.showModal(), [])
  return html`<dialog ref=${box} class=${isWide ? 'wide' : ''} aria-labelledby="dialog-title" onClose=${onEnd}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`
}
