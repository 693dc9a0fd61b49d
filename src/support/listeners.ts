// Functions that are called each time something happens.

export function createListeners<Arguments extends readonly unknown[]>() {
  const listeners = new Set<(...args: Arguments) => void>()
  return {
    /** @returns removes the listener */
    add: (listener: (...args: Arguments) => void): (() => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    call: (...args: Arguments): void => {
      for (const listener of listeners) listener(...args)
    }
  }
}
