// The panel of what is chosen. Where it stands below the lists, as on a phone, a choice brings it into view.
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'
import { inTurn } from './in-turn.ts'

interface Props {
  /** Names what is chosen; undefined: nothing. */
  readonly of: string | undefined
  readonly children?: ComponentChildren
}

function Panel({ of, children }: Props): VNode {
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    if (of !== undefined && box.current !== null && !isBrowsing()) bringIntoView(box.current)
  }, [of])
  return html`<section class="panel detail" aria-label="Details" ref=${box}>${children}</section>`
}

export const Detail = inTurn(Panel, 'of')

/** The arrow keys go through a list, which stays in view. */
const isBrowsing = (): boolean => document.activeElement?.matches('[role=listbox]:focus-visible') === true

function bringIntoView(element: HTMLElement): void {
  const { top } = element.getBoundingClientRect()
  if (top < 0 || top > innerHeight / 2) element.scrollIntoView()
}
