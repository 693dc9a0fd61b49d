// Questions that follow each other faster than they are answered: one at a time, and of those that wait the latest.

export function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  let newest = 0

  /** Fails if a later question came before this one had its turn. */
  return <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    newest += 1
    const own = newest
    const answer = last.then(() => {
      if (own !== newest) throw new Error('Another moment was asked for.')
      return ask()
    })
    last = answer.catch(() => undefined)
    return answer
  }
}
