// Long work in slices: after each, other work has a turn.
import { setImmediate } from 'node:timers/promises'

export type Slice = ReturnType<typeof createSlice>

const sliceMs = 4

export function createSlice() {
  let start = performance.now()

  return {
    get isOver(): boolean {
      return performance.now() - start > sliceMs
    },
    /** Begins the next one, in a turn of its own. */
    async next(): Promise<void> {
      await setImmediate()
      start = performance.now()
    }
  }
}
