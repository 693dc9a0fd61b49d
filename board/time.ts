// Times for people: relative to the server's clock, and exact on demand.

/** A short span, such as `4 s`, `3 min`, `2 h`. */
export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 99.5) return `${Math.round(seconds)} s`
  if (seconds < 99.5 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** In the past. */
export function ago(at: number, now: number): string {
  return now - at < 1500 ? 'now' : `${span(now - at)} ago`
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false
})
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })

/** `14:03:59`, in the time zone of the browser. */
export const clockTime = (at: number): string => (Number.isNaN(at) ? '' : clock.format(at))

const day = new Intl.DateTimeFormat(undefined, { month: '2-digit', day: '2-digit' })

/** To the millisecond, so that no two changes of a file look alike; with the day, if that is another one. */
export function momentTime(at: number, now: number): string {
  const clock = `${clockTime(at)}.${String(Math.floor(at) % 1000).padStart(3, '0')}`
  return new Date(at).toDateString() === new Date(now).toDateString() ? clock : `${day.format(at)} ${clock}`
}

const maxKept = 2000
const kept = new Map<number, string>()

/** Kept, since to write one takes the browser a while, and each row has one. */
export function exactTime(at: number): string {
  let text = kept.get(at)
  if (text !== undefined) return text
  if (kept.size >= maxKept) kept.clear()
  kept.set(at, (text = Number.isNaN(at) ? '' : full.format(at)))
  return text
}
