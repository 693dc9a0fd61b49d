// From when until when: two fields, and the spans that are asked for most.
import type { VNode } from 'preact'
import { html } from './html.ts'
import { serverNow } from './server.ts'

/** Undefined: any time. In ISO 8601. */
export interface Period {
  readonly since: string | undefined
  readonly until: string | undefined
}

interface Props {
  readonly period: Period
  readonly onPeriod: (period: Period) => void
}

const spans = [
  { name: 'last 10 min', minutes: 10 },
  { name: 'last hour', minutes: 60 },
  { name: 'last day', minutes: 24 * 60 }
]

export function TimeFields({ period, onPeriod }: Props): VNode {
  return html`<${Moment}
      label="From"
      at=${period.since}
      onMoment=${(at: number) => onPeriod({ ...period, since: toMoment(at) })}
    />
    <${Moment}
      label="To"
      at=${period.until}
      onMoment=${(at: number) => onPeriod({ ...period, until: toMoment(at + 999) })}
    />
    <div class="spans" role="group" aria-label="Time">
      ${spans.map(
        ({ name, minutes }) =>
          html`<button type="button" class="quiet" key=${name} onClick=${() => onPeriod(lastMinutes(minutes))}>
            ${name}
          </button>`
      )}
      <button type="button" class="quiet" onClick=${() => onPeriod({ since: undefined, until: undefined })}>
        any time
      </button>
    </div>`
}

export const lastMinutes = (minutes: number): Period => ({
  since: new Date(serverNow() - minutes * 60_000).toISOString(),
  until: undefined
})

/** In whole seconds: what is meant to end with one has its milliseconds added. */
function Moment(props: { label: string; at: string | undefined; onMoment: (at: number) => void }): VNode {
  const { label, at, onMoment } = props
  return html`<label
    >${label}
    <input
      type="datetime-local"
      class="moment"
      step="1"
      value=${toField(at)}
      onInput=${(event: Event) => onMoment(Date.parse((event.target as HTMLInputElement).value))}
    />
  </label>`
}

/** `2026-11-25T10:03:01`, in the time zone of the browser. */
function toField(moment: string | undefined): string {
  if (moment === undefined) return ''
  const at = new Date(moment)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

const toMoment = (at: number): string | undefined => (Number.isNaN(at) ? undefined : new Date(at).toISOString())
