// The automaton of a glob: all its states are run at once, so that no pattern takes longer than its length times the name's.

/** A state either consumes one character and goes to `next`, or goes to `next` and `other` without consuming. */
export interface State {
  readonly accepts?: (character: string) => boolean
  next: number
  other?: number
}

/** Thompson's simulation: all states at once, one step a character. */
export function run(states: readonly State[], text: string): boolean {
  let active = new Set<number>()
  enter(states, 0, active)
  for (const character of text) {
    const following = new Set<number>()
    for (const index of active) {
      const state = states[index] as State
      if (state.accepts?.(character) === true) enter(states, state.next, following)
    }
    if (following.size === 0) return false
    active = following
  }
  return active.has(states.length - 1)
}

/** Adds a state and all that it reaches without consuming. */
function enter(states: readonly State[], index: number, into: Set<number>): void {
  const stack = [index]
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (into.has(top)) continue
    into.add(top)
    const { accepts, next, other } = states[top] as State
    if (accepts !== undefined) continue
    stack.push(next)
    if (other !== undefined) stack.push(other)
  }
}
