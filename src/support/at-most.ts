// A wait with an end.

/** A process that is held up, by a busy machine, say, loses one of these parts of the limit, and still reads what has come meanwhile. */
const parts = 4

/** Waits for the work, but no longer than this; the work goes on. @returns undefined if it takes longer */
export async function atMost<Result>(limitMs: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((resolve) => {
    let left = parts
    timer = setInterval(() => --left === 0 && resolve(undefined), limitMs / parts).unref()
  })
  return Promise.race([work, over]).finally(() => clearInterval(timer))
}
