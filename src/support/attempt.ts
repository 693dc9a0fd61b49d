// Steps whose failure changes nothing for the caller.

/** @returns whether the step threw nothing. For cleaning up, and for questions that only a try can answer */
export function attempt(step: () => unknown): boolean {
  try {
    step()
    return true
  } catch {
    return false
  }
}

/** @returns undefined if the step threw */
export function orUndefined<Result>(step: () => Result): Result | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}
