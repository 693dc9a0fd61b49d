// What a part of the page asks the server for, anew when its key changes.
import { useEffect, useState } from 'preact/hooks'

export interface Asked<Answer> {
  /** The last one, until the next is there. */
  readonly answer: Answer | undefined
  /** Why there is none; empty if all is well. */
  readonly trouble: string
}

/** @param ask undefined if there is nothing to ask for */
export function useAnswer<Answer>(ask: (() => Promise<Answer>) | undefined, key: string): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer>>({ answer: undefined, trouble: '' })
  useEffect(() => {
    let isMeant = true
    const put = (part: Partial<Asked<Answer>>) => isMeant && setAsked((before) => ({ ...before, ...part }))
    ask?.().then(
      (answer) => put({ answer, trouble: '' }),
      (error: Error) => put({ trouble: error.message })
    )
    return () => {
      isMeant = false
    }
  }, [key])
  return asked
}
