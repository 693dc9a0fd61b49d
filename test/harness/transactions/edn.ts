// Writes the history of one file in EDN, one operation on each line, as Jepsen does: public checkers (Knossos, Porcupine) read that.
import type { Act, Version } from './serial-order.ts'

/**
 * A file is a register that is compared and set: its value is the number of a version, or :absent. The history begins with a write of
 * the first version, which is answered before all else. All other acts are reads, or changes (:cas) of the version that they saw.
 */
export function toEdn(file: string, start: Version, acts: readonly Act[]): string {
  const processes = new Map<string, number>()
  const versions = new Map<Version, number>()
  const numberOf = <Key>(numbers: Map<Key, number>, key: Key) => {
    if (!numbers.has(key)) numbers.set(key, numbers.size)
    return numbers.get(key) as number
  }
  const value = (version: Version | undefined) =>
    version === undefined || version === null ? ':absent' : String(numberOf(versions, version))
  const line = (process: number, type: string, f: string, shown: string, at: number) =>
    `{:process ${process}, :type :${type}, :f :${f}, :value ${shown}, :time ${Math.round(at * 1e6)}}`

  const first = value(start)
  const own = numberOf(processes, '')
  const begun = Math.min(0, ...acts.map(({ sentAt }) => sentAt))
  const events = acts.flatMap(({ agent, sentAt, answeredAt, saw, made }) => {
    const process = numberOf(processes, agent)
    const seen = value(saw.get(file))
    const isRead = !made.has(file)
    const f = isRead ? 'read' : 'cas'
    const shown = isRead ? seen : `[${seen} ${value(made.get(file))}]`
    return [
      { at: sentAt, text: line(process, 'invoke', f, isRead ? 'nil' : shown, sentAt) },
      { at: answeredAt, text: line(process, 'ok', f, shown, answeredAt) }
    ]
  })
  const lines = [
    line(own, 'invoke', 'write', first, begun - 2),
    line(own, 'ok', 'write', first, begun - 1),
    ...events.sort((one, other) => one.at - other.at).map(({ text }) => text)
  ]
  return `${lines.join('\n')}\n`
}
