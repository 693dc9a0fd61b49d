// Flags before a command belong to the server that runs without a command. A command that would ignore them refuses them.
import type { Command } from 'commander'

/** For `hook('preAction', ...)`. */
export function refuseEarlyFlags(_here: Command, action: Command): void {
  let top = action
  while (top.parent !== null) top = top.parent
  const early = top.options.find((option) => top.getOptionValueSource(option.attributeName()) === 'cli')
  if (early === undefined || top === action) return
  action.error(`error: ${early.long ?? early.flags} is before the command: put it after ${pathOf(action)}`)
}

/** Such as `daemon start`. */
function pathOf(command: Command): string {
  const { parent } = command
  return parent === null || parent.parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`
}
