// What all commands share: how they report wrong arguments, and how they fail.
import { Command, InvalidArgumentError } from 'commander'
import { messageOf } from '../../support/error-message.ts'
import { asCalled } from '../../support/as-called.ts'

/** A command that reports wrong arguments in one clear line on stderr, with exit code 1. */
export function createCommand(name: string): Command {
  return new Command(name)
    .allowExcessArguments(false)
    .showSuggestionAfterError()
    .configureOutput({
      outputError: (text, write) =>
        write(text.replace(/\n\((.*)\)/, ' ($1)').replace(/^(?:error: )?/, 'async-crud-mcp: '))
    })
}

/** An action that fails with one line on stderr and exit code 1. */
export function orFail<Arguments extends unknown[]>(
  act: (...args: Arguments) => Promise<void>
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    try {
      await act(...args)
    } catch (error) {
      process.stderr.write(`async-crud-mcp: ${asCalled(messageOf(error))}\n`)
      process.exit(1)
    }
  }
}

export function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value]
}

export function numberBetween(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (value.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
  }
}
