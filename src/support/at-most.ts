// A wait with an end.

/** Waits for the work, but no longer than this; the work goes on. @returns undefined if it takes longer */
export async function atMost<Result>(limitMs: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), limitMs).unref()))
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
