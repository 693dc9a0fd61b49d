// The lines of the files: each has a place of its own, so that all lines of a file differ and are in one order.
import type { Text } from './text.ts'

const variants = ['x', 'y', 'z', '']

export const linesIn = (text: string): Text => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** The last of the last place has no line end. */
const lineOf = (slot: number, variant: number) =>
  `${slot + 1}${variants[variant]}${slot === 7 && variant === 2 ? '' : '\n'}`
export const slotOf = (line: string) => Number(line[0]) - 1
export const bySlot = (one: string, other: string) => slotOf(one) - slotOf(other)

export function textOf(text: readonly { readonly slot: number; readonly variant: number }[]): Text {
  return text.map(({ slot, variant }) => lineOf(slot, variant)).sort(bySlot)
}

export function edited(base: Text, slots: readonly { readonly slot: number; readonly variant: number }[]): Text {
  let text = base
  for (const { slot, variant } of slots) {
    const others = text.filter((line) => slotOf(line) !== slot)
    text = variant === 3 ? others : [...others, lineOf(slot, variant)].sort(bySlot)
  }
  return text.slice(0, -1).every((line) => line.endsWith('\n')) ? text : base
}
