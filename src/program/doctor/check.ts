// One check of one thing: its condition, and what to do if something is wrong.

export type Verdict = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  /** The condition. */
  readonly message: string
  /** What to do; absent if all is well. */
  readonly advice?: string
}

export interface Check {
  readonly name: string
  run(): Finding[] | Promise<Finding[]>
}

export const findings = (check: string) => ({
  ok: (message: string): Finding => ({ check, verdict: 'ok', message }),
  warn: (message: string, advice: string): Finding => ({ check, verdict: 'warn', message, advice }),
  fail: (message: string, advice: string): Finding => ({ check, verdict: 'fail', message, advice })
})

/** @param limitMs after which it counts as a warning: a file system that has gone does not answer at all */
export async function runCheck(check: Check, limitMs: number): Promise<Finding[]> {
  const { name } = check
  const { warn } = findings(name)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Finding[]>((resolve) => {
    const seconds = limitMs / 1000
    timer = setTimeout(
      () => resolve([warn(`no answer within ${seconds} s`, 'check whether its disk, or the service manager, hangs')]),
      limitMs
    )
  })
  try {
    return await Promise.race([Promise.resolve().then(() => check.run()), late])
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return [findings(name).fail(message, 'correct that, and run this again')]
  } finally {
    clearTimeout(timer)
  }
}
