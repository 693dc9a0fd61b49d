// Takes wrappers from a command: programs that run another one, which their arguments name.
import { readOptions } from './options.ts'
import { toFolder, type Argument, type SimpleCommand } from './simple-command.ts'

type Wrapped = Omit<SimpleCommand, 'outputs'>

export type Unwrapped =
  | { readonly kind: 'commands'; readonly commands: readonly Wrapped[] }
  /** A command line for another shell. */
  | { readonly kind: 'text'; readonly text: string; readonly folder: string | undefined }
  | { readonly kind: 'unknown'; readonly why: string }

/** The options that take a value, by the wrapper; and how many operands it takes before the command. */
const wrappers: Readonly<Record<string, { options: string; operands?: number }>> = {
  sudo: {
    options:
      'A|b|E|e|H|i|K|k|l|n|P|S|s|v|V|B|N|preserve-env?|login|non-interactive|flag D|chdir= u|user= g|group= h|host= p|prompt= C|close-from= r|role= t|type= T|command-timeout= U|other-user= R|chroot='
  },
  doas: { options: 'L|n|s|flag u= C= a=' },
  env: { options: 'i|0|v|ignore-environment|null|debug|flag u|unset= C|chdir= S|split-string=' },
  command: { options: 'p|flag v|V|describe' },
  builtin: { options: 'flag' },
  exec: { options: 'c|l|flag a=' },
  nohup: { options: 'flag' },
  setsid: { options: 'c|f|w|ctty|fork|wait|flag' },
  time: { options: 'a|p|v|q|V|flag f|format= o|output=' },
  nice: { options: '0|1|2|3|4|5|6|7|8|9|flag n|adjustment=' },
  ionice: { options: 't|flag c|class= n|classdata= p=' },
  timeout: { options: 'f|v|foreground|preserve-status|verbose|flag k|kill-after= s|signal=', operands: 1 },
  stdbuf: { options: 'flag i|input= o|output= e|error=' },
  chronic: { options: 'v|e|flag' },
  caffeinate: { options: 'd|i|m|s|u|flag t= w=' },
  busybox: { options: 'flag' }
}

const shells = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'ash', 'mksh'])
const shellOptions =
  'a|b|e|f|h|i|k|l|m|n|p|r|t|u|v|x|B|C|E|H|P|T|D|login|posix|norc|noprofile|restricted|verbose|noediting|flag s|stdin c|command o= O= rcfile|init-file='
const xargsOptions =
  '0|null|r|no-run-if-empty|t|verbose|p|interactive|x|exit|o|open-tty|show-limits|flag I= i|replace? n|max-args= P|max-procs= L|max-lines= l? d|delimiter= s|max-chars= E= e|eof? a|arg-file= process-slot-var='

const maxWrappers = 20

export function unwrap(command: Wrapped, depth = 0): Unwrapped {
  const name = nameOf(command.words[0])
  if (name === undefined || depth > maxWrappers) return { kind: 'commands', commands: [command] }
  if (shells.has(name)) return ofShell(name, command)
  if (name === 'xargs') return ofXargs(command, depth)
  if (name === 'find') return ofFind(command, depth)
  const wrapper = wrappers[name]
  if (wrapper === undefined || !Object.hasOwn(wrappers, name)) return { kind: 'commands', commands: [command] }
  const texts = textsOf(command.words.slice(1))
  const { get, has, operands } = readOptions(texts, wrapper.options, true)
  if (has('describe')) return { kind: 'commands', commands: [] }
  const split = get('split-string')
  if (split !== undefined) return { kind: 'text', text: [...split, ...operands].join(' '), folder: command.folder }
  const variables = new Map(command.variables)
  let at = command.words.length - operands.length + (wrapper.operands ?? 0)
  for (; at < command.words.length; at += 1) {
    const [, variable, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(command.words[at]?.text ?? '') ?? []
    if (variable === undefined) break
    variables.set(variable, value)
  }
  const chdir = get('chdir')?.at(-1)
  const folder = chdir === undefined ? command.folder : toFolder(command.folder, chdir)
  return unwrap({ ...command, words: command.words.slice(at), variables, folder }, depth + 1)
}

/** `/usr/bin/git` is `git`. */
export function nameOf(word: Argument): string | undefined {
  const text = word?.pattern === undefined ? word?.text : undefined
  return text?.slice(text.lastIndexOf('/') + 1)
}

/** Stands for an argument that cannot be told: no option, and no text that anything is compared with. */
const unknownText = '\0'

function textsOf(words: readonly Argument[]): string[] {
  return words.map((word) => word?.text ?? unknownText)
}

function ofShell(name: string, command: Wrapped): Unwrapped {
  const { words, folder, input, pipedFrom } = command
  const { has, operands } = readOptions(textsOf(words.slice(1)), shellOptions, true)
  const [first] = operands
  if (has('command')) {
    return first === undefined || first === unknownText
      ? { kind: 'unknown', why: `what "${name} -c" runs cannot be told from the line` }
      : { kind: 'text', text: first, folder }
  }
  // A script in a file is a program like any other.
  const isProgram = first !== undefined && !has('stdin')
  if (!isProgram && input !== undefined) return { kind: 'text', text: input, folder }
  return isProgram || pipedFrom.length === 0
    ? { kind: 'commands', commands: [command] }
    : { kind: 'unknown', why: `what "${name}" reads from its pipe cannot be told from the line` }
}

function ofXargs(command: Wrapped, depth: number): Unwrapped {
  const { get, operands } = readOptions(textsOf(command.words.slice(1)), xargsOptions, true)
  if (operands.length === 0) return { kind: 'commands', commands: [] }
  const placeholder = get('I')?.at(-1) ?? (get('replace') === undefined ? undefined : get('replace')!.at(-1) || '{}')
  const words = command.words.slice(command.words.length - operands.length)
  return unwrap({ ...command, ...withMore(words, placeholder), moreFrom: command.pipedFrom }, depth + 1)
}

/** The command itself, and those of `-exec`. */
function ofFind(command: Wrapped, depth: number): Unwrapped {
  const commands: Wrapped[] = [command]
  const texts = textsOf(command.words)
  for (const [at, text] of texts.entries()) {
    if (text !== '-exec' && text !== '-execdir') continue
    const end = texts.findIndex(
      (one, place) => place > at && (one === ';' || (one === '+' && texts[place - 1] === '{}'))
    )
    const words = command.words.slice(at + 1, end === -1 ? undefined : end)
    const inner = unwrap({ ...command, ...withMore(words, '{}'), moreFrom: [{ ...command, outputs: [] }] }, depth + 1)
    if (inner.kind !== 'commands') return inner
    commands.push(...inner.commands)
  }
  return { kind: 'commands', commands }
}

/** Without the placeholder for what is appended. A word that only contains it cannot be told, unless it is a line for another shell. */
function withMore(words: readonly Argument[], placeholder: string | undefined): Pick<Wrapped, 'words'> {
  if (placeholder === undefined || placeholder === '') return { words }
  const isForShell = words.some((word) => shells.has(nameOf(word) ?? ''))
  const replaced = words
    .filter((word) => word?.text !== placeholder)
    .map((word): Argument => {
      if (word?.text.includes(placeholder) !== true) return word
      return isForShell ? { text: word.text.replaceAll(placeholder, '"$__"') } : undefined
    })
  return { words: replaced }
}
