// The chosen line of the timeline: what differs, the versions of the file, and the way back to one.
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { BlameView } from './blame-view.ts'
import { DiffView } from './diff-view.ts'
import { formatAddress } from './address.ts'
import { html } from './html.ts'
import type { Happening, Kind } from './happenings.ts'
import type { HistoryVersion } from './model.ts'
import { nameOf } from './names.ts'
import { CopyButton, Mode, Name, Path, Time } from './parts.ts'
import { RestoreDialog } from './restore-dialog.ts'
import { curlOf } from './server.ts'
import { clockTime, exactTime } from './time.ts'
import { choiceOf, type OnUndo } from './undo/choice.ts'
import { useAnswer } from './use-answer.ts'
import { diffInput, diffOf, versionsOf } from './versions.ts'
import { actOf } from './words.ts'

interface DetailProps {
  readonly line: Happening
  readonly now: number
  readonly short: (path: string) => string
  readonly onChangeSet: (changeSet: string) => void
  readonly onLine: (line: Happening) => void
  readonly onUndo: OnUndo
  /** Of the last line about the file: its versions are asked for again when there is another. */
  readonly latest: string | undefined
}

export function ChangeDetail({ line, now, short, onChangeSet, onLine, onUndo, latest }: DetailProps): VNode {
  const { kind, path, agent, at, what, changeSet, command, expectedHash } = line
  const isUndo = line.operation === 'async_undo'
  const [isBlamed, blame] = useState(false)
  const [isSplit, split] = useState(innerWidth > 1500)
  const [pair, setPair] = useState<Pair>({ from: line.previousHash ?? expectedHash, to: line.hash, at })
  const [restoring, restore] = useState<HistoryVersion>()
  const [restores, setRestores] = useState(0)
  const { answer: versions = [], trouble } = useAnswer(
    path === '' ? undefined : () => versionsOf(path),
    `${path} ${latest} ${restores}`
  )

  const { from, to } = pair
  const shown = nearest(versions, pair)
  const change = kind === 'contention' ? undefined : nearest(versions, { to: line.hash, at })
  const canCompare = typeof from === 'string' && typeof to === 'string'
  return html`<h2 class="wrap">${path === '' ? what : html`<${Path} path=${short(path)} />`}</h2>
    <p class="dim">
      <span class=${`kind ${kind}`}>${kind}</span>${' '}<${Name} name=${agent} />${`, ${what}, `}<${Time}
        at=${at}
        now=${now}
      />${` (${exactTime(at)})`}
    </p>
    ${
      changeSet !== undefined &&
      html`<p class="dim">
        <span class="wrap">Change set ${changeSet}</span>${' '}<button
          type="button"
          class="quiet"
          onClick=${() => onChangeSet(changeSet)}
        >
          Show all of it</button
        >${' '}<button type="button" class="quiet" onClick=${() => onUndo({ of_change_set: changeSet }, isUndo)}>
          ${isUndo ? 'Redo…' : 'Take all of it back…'}
        </button>
      </p>`
    }
    ${command !== undefined && html`<p class="dim wrap">By the command <code>${command}</code></p>`}
    <div class="acts">
      ${change !== undefined && !isUndo && html`<button type="button" onClick=${() => onUndo(choiceOf(change, short))}>Take this change back…</button>`}
      ${path !== '' && html`<button type="button" class="quiet" aria-pressed=${isBlamed} onClick=${() => blame(!isBlamed)}>Who made each line</button>`}
      ${path !== '' && html`<a href=${formatAddress('replay', { at: new Date(line.at).toISOString(), path })}>The tree then</a>`}
    </div>
    ${isBlamed && html`<${BlameView} path=${path} latest=${`${latest} ${restores}`} now=${now} short=${short} onUndo=${onUndo} />`}
    ${trouble !== '' && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${line.files !== undefined && html`<${FilesOf} files=${line.files} short=${short} onLine=${onLine} />`}
    ${expectedHash !== undefined && html`<${Late} line=${line} versions=${versions} isSplit=${isSplit} />`}
    ${
      canCompare &&
      kind !== 'contention' &&
      html`<div class="acts">
          <button type="button" class="quiet" aria-pressed=${isSplit} onClick=${() => split(!isSplit)}>
            Side by side
          </button>
          <${CopyButton} text=${() => curlOf('/async_diff', diffInput(path, from, to))}>Copy as curl<//>
        </div>
        <${Difference} path=${path} from=${from} to=${to} isSplit=${isSplit} />`
    }
    ${!canCompare && path !== '' && kind !== 'lease' && kind !== 'circle' && html`<p class="hint">${explainNoDiff(kind)}</p>`}
    ${versions.length > 0 && html`<h3>Versions</h3>`}
    <ol class="versions" reversed>
      ${versions.map(
        (version, index) =>
          html`<li key=${`${version.hash} ${version.at}`} class=${version === shown ? 'is-shown' : ''}>
            <span class="dim when"><${Time} at=${Date.parse(version.at)} now=${now} /></span>
            <${Name} name=${version.agent_id ?? 'there before'} />
            ${version.operation !== null && html`<span class="dim">${actOf(version.operation)}</span>`}
            ${version.hash === null && html`<span class="kind deleted">deleted</span>`}
            <${Mode} of=${version} />
            ${version.lines !== undefined && html`<${LineCounts} lines=${version.lines} />`}
            <span class="right">
              ${
                typeof version.previous_hash === 'string' &&
                version.hash !== null &&
                html`<button
                  type="button"
                  class="quiet"
                  onClick=${() => setPair({ from: version.previous_hash, to: version.hash, at: Date.parse(version.at) })}
                >
                  Diff<span class="unseen"> of the version of ${clockTime(Date.parse(version.at))}</span>
                </button>`
              }
              ${
                version.kept &&
                index > 0 &&
                html`<button type="button" class="quiet" onClick=${() => restore(version)}>
                  Restore…<span class="unseen"> the version of ${clockTime(Date.parse(version.at))}</span>
                </button>`
              }
            </span>
          </li>`
      )}
    </ol>
    ${
      restoring !== undefined &&
      html`<${RestoreDialog}
        path=${path}
        shown=${short(path)}
        version=${restoring}
        isSplit=${isSplit}
        onEnd=${(isRestored: boolean) => {
          restore(undefined)
          if (isRestored) setRestores(restores + 1)
        }}
      />`
    }`
}

interface Pair {
  readonly from: string | null | undefined
  readonly to: string | null | undefined
  readonly at: number
}

/** A file may have had the same bytes several times. */
function nearest(versions: readonly HistoryVersion[], { to, at }: { to: string | null | undefined; at: number }) {
  const distance = (version: HistoryVersion) => Math.abs(Date.parse(version.at) - at)
  return versions.filter(({ hash }) => hash === to).sort((one, other) => distance(one) - distance(other))[0]
}

/** The files of a change of several. */
function FilesOf(props: {
  files: readonly Happening[]
  short: (path: string) => string
  onLine: (line: Happening) => void
}): VNode {
  const { files, short, onLine } = props
  return html`<h3>Files (${files.length})</h3>
    <ul class="plain">
      ${files.map(
        (file) =>
          html`<li key=${file.key}>
            <span class=${`kind ${file.kind}`}>${file.kind}</span>
            <button type="button" class="link" onClick=${() => onLine(file)}>
              <${Path} path=${short(file.path)} />
            </button>
          </li>`
      )}
    </ul>`
}

/** What had changed between the version that a late change was made for and the one that it met; and what it tried. */
function Late(props: { line: Happening; versions: readonly HistoryVersion[]; isSplit: boolean }): VNode {
  const { line, versions, isSplit } = props
  const { kind, path, agent, operation = '', expectedHash = '', triedHash, hash, previousHash } = line
  const met = kind === 'contention' ? hash : previousHash
  const maker = versions.find((version) => version.hash === met)?.agent_id
  const tried =
    triedHash === undefined
      ? html`<p class="hint">To ${actOf(operation)} it. More of it is not kept.</p>`
      : html`<${Difference} path=${path} from=${expectedHash} to=${triedHash} isSplit=${isSplit} of="what it tried" />`
  return html`<h3>What ${nameOf(agent)} did not know${typeof maker === 'string' && `: by ${nameOf(maker)}`}</h3>
    ${typeof met === 'string' && html`<${Difference} path=${path} from=${expectedHash} to=${met} isSplit=${isSplit} of="what it did not know" />`}
    ${
      kind === 'contention'
        ? html`<h3>What ${nameOf(agent)} tried, and was not written</h3>
            ${tried}`
        : html`<h3>What the merge has added</h3>`
    }`
}

function LineCounts({ lines: { added, removed, modified } }: { lines: NonNullable<HistoryVersion['lines']> }): VNode {
  return html`<span class="counts">
    ${added > 0 && html`<span class="plus" title="lines added">+${added}</span>`}
    ${removed > 0 && html`<span class="minus" title="lines removed">−${removed}</span>`}
    ${modified > 0 && html`<span class="dim" title="lines changed">~${modified}</span>`}
  </span>`
}

function explainNoDiff(kind: Kind): string {
  if (kind === 'created') return 'There was no version before.'
  if (kind === 'deleted') return 'The file is gone. A kept version below brings it back.'
  return 'The version before is not known, so that there is nothing to compare with.'
}

function Difference(props: { path: string; from: string; to: string; isSplit: boolean; of?: string }): VNode {
  const { path, from, to, ...view } = props
  const { answer, trouble } = useAnswer(() => diffOf(path, from, to), `${path} ${from} ${to}`)
  if (trouble !== '') return html`<p class="hint">${trouble}</p>`
  if (answer === undefined) return html`<p class="hint">Comparing…</p>`
  return html`<${DiffView} hunks=${answer} ...${view} />`
}
