// What an agent writes down of each call before it is sent and when it is answered: in a file at once, so that it survives a kill.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { now, type Ask, type Call, type Reply } from './history.ts'

type JournalRecord =
  | { readonly type: 'sent'; readonly call: Ask & Pick<Call, 'n' | 'sentAt'> }
  | { readonly type: 'answered'; readonly n: number; readonly answeredAt: number; readonly reply: Reply }

export type Journal = ReturnType<typeof createJournal>

export function createJournal(path: string) {
  const descriptor = openSync(path, 'a')
  const write = (record: JournalRecord) => writeSync(descriptor, `${JSON.stringify(record)}\n`)
  let calls = 0
  return {
    /** @param complete the call, given its number @returns what to tell when the answer has come */
    sent<Sent extends Ask>(complete: (n: number) => Sent): { ask: Sent; sentAt: number; answered(reply: Reply): void } {
      calls += 1
      const n = calls
      const ask = complete(n)
      const sentAt = now()
      write({ type: 'sent', call: { ...ask, n, sentAt } })
      return { ask, sentAt, answered: (reply) => void write({ type: 'answered', n, answeredAt: now(), reply }) }
    }
  }
}

/** A last line without its end is not counted: the kill came in between. */
export function readJournal(path: string): Call[] {
  const calls = new Map<number, Call>()
  for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const record = JSON.parse(line) as JournalRecord
    if (record.type === 'sent') calls.set(record.call.n, record.call)
    else {
      const { n, answeredAt, reply } = record
      calls.set(n, { ...(calls.get(n) as Call), answeredAt, reply })
    }
  }
  return [...calls.values()]
}
