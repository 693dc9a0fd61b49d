// Replay: a slider over the changes of the log, and the tree as it was after any of them.
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ReplayOutput } from '../../schemas/replay.ts'
import { formatAddress } from '../address.ts'
import { html } from '../html.ts'
import type { Happening } from '../happenings.ts'
import { Name } from '../parts.ts'
import { call, serverNow } from '../server.ts'
import { exactTime, momentTime } from '../time.ts'
import { go } from '../use-address.ts'
import { useAnswer } from '../use-answer.ts'
import { actOf, counted } from '../words.ts'
import { momentAt, placeAt, placeOf, rowsOf, type Log } from './moments.ts'
import { ReplayDetail } from './replay-detail.ts'
import { ReplayFiles } from './replay-files.ts'
import { createTurns } from './turns.ts'

/** Files asked for at each moment; `contains` narrows them. */
const maxFiles = 2000
const tickMs = 100
const speeds = [1, 5, 20, 100]

const inTurn = createTurns()

interface Props {
  /** The moment, the chosen file, and a part of the paths that are listed. */
  readonly query: Readonly<Record<string, string>>
  readonly root: string | undefined
  readonly timeline: readonly Happening[]
}

export function ReplayView({ query, root, timeline }: Props): VNode {
  const [round, look] = useState(0)
  const { answer, trouble } = useAnswer(askForLog, String(round))
  const { contains = '' } = query
  const path = relative(query['path'] ?? '', root)
  const log = answer?.log
  const asked = log && askedPlace(log, query)
  const [moved, move] = useState<number>()
  const [speed, setSpeed] = useState(5)
  const [isPlaying, play] = useState(false)
  const last = log?.seqs.length ?? 0
  const place = moved ?? asked ?? last
  const moment = log === undefined ? undefined : momentAt(log, place)
  const shown = useAnswer(
    moment === undefined ? undefined : askForMoment(moment, path, contains),
    `${moment} ${path} ${contains} ${round}`
  )
  const change = (part: Readonly<Record<string, string>>) =>
    go(
      formatAddress('replay', { ...query, ...(moment !== undefined && { seq: String(moment) }), at: '', ...part }),
      true
    )
  usePlay(isPlaying, speed, () => {
    if (place >= last) return stop()
    move(Math.min(last, place + Math.max(1, Math.round((speed * tickMs) / 1000))))
  })

  /** The address follows when the slider rests. */
  function rest(next: number): void {
    move(undefined)
    if (log !== undefined) change({ seq: String(momentAt(log, next)) })
  }

  function stop(): void {
    play(false)
    rest(place)
  }

  if (log === undefined)
    return html`<div class="empty">
      <p class=${trouble === '' ? '' : 'trouble'}>${trouble === '' ? 'Reading the log…' : trouble}</p>
    </div>`
  const now = serverNow()
  const rows = shown.answer === undefined ? [] : rowsOf(shown.answer, log.other_files, contains)
  return html`<div class="replay">
    <section class="panel replay-bar" aria-labelledby="replay-title">
      <div class="filters">
        <h2 id="replay-title">Replay <span class="count">${counted(last, 'change')}</span></h2>
        <button type="button" class="quiet" disabled=${place === 0} onClick=${() => rest(place - 1)}>Earlier</button>
        <button type="button" class="quiet" disabled=${place >= last} onClick=${() => rest(place + 1)}>Later</button>
        <button
          type="button"
          class="quiet"
          aria-pressed=${isPlaying}
          onClick=${() => (isPlaying ? stop() : startAt(place, last, move, play))}
        >
          ${isPlaying ? 'Pause' : 'Play'}
        </button>
        <label
          >changes a second
          <select
            value=${speed}
            onChange=${(event: Event) => setSpeed(Number((event.target as HTMLSelectElement).value))}
          >
            ${speeds.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
          </select>
        </label>
        ${
          hasMore(timeline, log) &&
          html`<button type="button" class="quiet" onClick=${() => look(round + 1)}>Look again</button>`
        }
      </div>
      <input
        type="range"
        aria-label="Moment, by change"
        aria-valuetext=${wordsOf(log, place, shown.answer, now)}
        min="0"
        max=${last}
        step="1"
        value=${place}
        onInput=${(event: Event) => move(Number((event.target as HTMLInputElement).value))}
        onChange=${(event: Event) => rest(Number((event.target as HTMLInputElement).value))}
      />
      <${Moment} log=${log} place=${place} answer=${shown.answer} now=${now} />
      ${shown.trouble !== '' && html`<p class="trouble" role="alert">${shown.trouble}</p>`}
    </section>
    <${ReplayFiles}
      rows=${rows}
      more=${(shown.answer?.total_files ?? 0) - (shown.answer?.files.length ?? 0)}
      contains=${contains}
      chosen=${path}
      now=${now}
      onContains=${(text: string) => change({ contains: text })}
      onChoose=${(chosen: string) => change({ path: chosen })}
    />
    <${ReplayDetail} answer=${shown.answer} path=${path} now=${now} onMade=${(at: number) => rest(placeAt(log, at))} />
  </div>`
}

/** As the server shows it, whose links from elsewhere may be absolute. */
const relative = (path: string, root: string | undefined): string =>
  root !== undefined && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path

/** By the number of a change, or by a time. */
function askedPlace(log: Log, { seq, at }: Props['query']): number | undefined {
  if (seq !== undefined) return placeOf(log, Number(seq))
  return at === undefined ? undefined : placeAt(log, Date.parse(at))
}

/** Whether something has changed since the log was read. */
function hasMore(timeline: readonly Happening[], { times }: Log): boolean {
  const last = timeline.findLast(({ kind, hash }) => kind !== 'contention' && hash !== undefined)
  return last !== undefined && last.at > (times.at(-1) ?? 0)
}

/** From the beginning, if it is at the end. */
function startAt(place: number, last: number, move: (place: number) => void, play: (isPlaying: boolean) => void): void {
  if (place >= last) move(0)
  play(true)
}

const askForLog = (): Promise<ReplayOutput> => call<ReplayOutput>('replay', { with_log: true, limit: 0 })

/** Knows nothing else of the page, which an effect would keep. */
const askForMoment = (seq: number, path: string, contains: string) => (): Promise<ReplayOutput> =>
  inTurn(() =>
    call<ReplayOutput>('replay', {
      seq,
      limit: maxFiles,
      ...(path !== '' && { path }),
      ...(contains !== '' && { contains })
    })
  )

function usePlay(isPlaying: boolean, speed: number, onTick: () => void): void {
  const latest = useRef(onTick)
  latest.current = onTick
  useEffect(() => {
    if (!isPlaying) return undefined
    const timer = setInterval(() => latest.current(), Math.max(tickMs, 1000 / speed))
    return () => clearInterval(timer)
  }, [isPlaying, speed])
}

/** Of the change itself, once its answer is there. */
function changeAt(log: Log, place: number, answer: ReplayOutput | undefined): ReplayOutput['change'] {
  return place > 0 && answer?.change?.seq === momentAt(log, place) ? answer.change : undefined
}

function wordsOf(log: Log, place: number, answer: ReplayOutput | undefined, now: number): string {
  if (place === 0) return 'before the first change'
  const change = changeAt(log, place, answer)
  const what = change === undefined ? '' : `: ${change.agent_id}, ${actOf(change.operation)} ${change.paths[0] ?? ''}`
  return `change ${place} of ${log.seqs.length}, ${momentTime(log.times[place - 1] ?? 0, now)}${what}`
}

function Moment(props: { log: Log; place: number; answer: ReplayOutput | undefined; now: number }): VNode {
  const { log, place, answer, now } = props
  if (place === 0) return html`<p class="moment-words">Before the first change that the log has.</p>`
  const at = log.times[place - 1] ?? 0
  const change = changeAt(log, place, answer)
  const files = change?.paths ?? []
  return html`<p class="moment-words">
    <b>${place}</b> of ${log.seqs.length}
    <time datetime=${new Date(at).toISOString()} title=${exactTime(at)}>${momentTime(at, now)}</time>
    ${
      change !== undefined &&
      html`<${Name} name=${change.agent_id} />
        <span>${actOf(change.operation)}</span>
        <code class="wrap">${files[0]}</code>
        ${files.length > 1 && html`<span class="dim">${`and ${files.length - 1} more`}</span>`}
        ${change.command !== undefined && html`<code class="wrap dim">${change.command}</code>`}
        ${change.change_set !== undefined && html`<span class="dim">${`in ${change.change_set}`}</span>`}`
    }
  </p>`
}
