// The options of a program's arguments, by a short description of those that it knows.

export interface Options {
  /** The values of an option, in order; `''` for one without. Undefined if it is not there. */
  readonly get: (name: string) => readonly string[] | undefined
  readonly has: (name: string) => boolean
  /** What is no option, in order. */
  readonly operands: readonly string[]
  /** How many operands stand before `--`; undefined without one. */
  readonly beforeDashes: number | undefined
}

interface Known {
  readonly name: string
  /** `=`: it takes a value; `?`: only one that is attached. */
  readonly takes: '' | '=' | '?'
}

/**
 * @param description names in groups: `f|force u|user= color?`; the last name of a group is the one that it is asked for by
 * @param isStrict true if the first operand ends the options
 */
export function readOptions(args: readonly string[], description: string, isStrict = false): Options {
  const known = describe(description)
  const found = new Map<string, string[]>()
  const operands: string[] = []
  let beforeDashes: number | undefined
  const note = (name: string, value: string) => found.set(name, [...(found.get(name) ?? []), value])

  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at]!
    if (arg === '--') {
      beforeDashes = operands.length
      operands.push(...args.slice(at + 1))
      break
    }
    if (arg === '-' || !arg.startsWith('-')) {
      if (isStrict) {
        operands.push(...args.slice(at))
        break
      }
      operands.push(arg)
    } else if (arg.startsWith('--')) {
      const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? []
      const option = longOption(known, name)
      // One that the description does not have is passed over.
      if (option === undefined) continue
      if (value !== undefined || option.takes !== '=') note(option.name, value ?? '')
      else note(option.name, args[++at] ?? '')
    } else {
      for (let place = 1; place < arg.length; place += 1) {
        const option = known.get(arg[place]!)
        const rest = arg.slice(place + 1)
        if (option === undefined) break
        if (option.takes === '') note(option.name, '')
        else {
          note(option.name, rest !== '' || option.takes === '?' ? rest : (args[++at] ?? ''))
          break
        }
      }
    }
  }
  return { get: (name) => found.get(name), has: (name) => found.has(name), operands, beforeDashes }
}

/** Programs accept the beginning of a long name, if no other begins so. */
function longOption(known: ReadonlyMap<string, Known>, name: string): Known | undefined {
  const exact = known.get(name)
  if (exact !== undefined && name.length > 1) return exact
  const begun = [...known].filter(([long]) => long.length > 1 && name !== '' && long.startsWith(name))
  return new Set(begun.map(([, option]) => option.name)).size === 1 ? begun[0]![1] : undefined
}

const descriptions = new Map<string, ReadonlyMap<string, Known>>()

function describe(description: string): ReadonlyMap<string, Known> {
  let known = descriptions.get(description)
  if (known === undefined) {
    const entries = description.split(' ').flatMap((group): [string, Known][] => {
      const [, names = '', takes = ''] = /^(.*?)([=?]?)$/.exec(group) ?? []
      const all = names.split('|')
      return all.map((one) => [one, { name: all.at(-1)!, takes: takes as Known['takes'] }])
    })
    known = new Map(entries)
    descriptions.set(description, known)
  }
  return known
}
