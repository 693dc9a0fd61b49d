// Which files well-known programs write, by their arguments.
import { existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { readOptions, type Options } from '../../support/shell/options.ts'
import { toFolder, type SimpleCommand } from '../../support/shell/simple-command.ts'

/** Paths as the arguments spell them, from the folder of the command. */
export interface Writes {
  /** True if nothing else is written. */
  readonly isBounded: boolean
  readonly files: readonly string[]
  /** Folders in which any file may be written, and files that are only mentioned. */
  readonly places: readonly string[]
}

export interface Call {
  readonly name: string
  /** Behind the name; those that are known. */
  readonly args: readonly string[]
  readonly folder: string
  readonly input: string | undefined
}

/** Of a program that only reads. */
export const nothing: Writes = { isBounded: true, files: [], places: [] }
const files = (names: readonly string[]): Writes => ({ isBounded: true, files: names, places: [] })
const places = (names: readonly string[]): Writes => ({ isBounded: true, files: [], places: names })
const anything = (args: readonly string[]): Writes => ({ isBounded: false, files: [], places: named(args) })
const named = (args: readonly string[]) => args.filter((arg) => !arg.startsWith('-'))

/** They write nothing, but for their output. */
const readers: ReadonlySet<string> = new Set(
  (
    ': [ basename cat cd cksum cmp column comm cut date df diff dirname du echo egrep env expand export false fgrep file ' +
    'fold grep head hexdump hostname id jq join less ls md5sum more nl od paste printenv printf ps pwd readlink realpath rev ' +
    'rg seq set sha1sum sha256sum sleep stat strings tac tail test tr true type uname wait wc which whoami'
  ).split(' ')
)

const formatters: Readonly<Record<string, string>> = {
  prettier: 'w|write c|check l|list-different',
  black: 'q|quiet l|line-length= t|target-version= config=',
  isort: 'q|quiet profile=',
  rustfmt: 'edition= config=',
  gofmt: 'w l d s',
  oxfmt: 'check',
  'clang-format': 'i style='
}

const gitReaders = new Set(
  'add blame branch describe diff fetch grep log ls-files remote rev-parse show status'.split(' ')
)
const languages = /^(?:python[\d.]*|node|deno|bun|ruby|perl|php)$/

export function writesOf(call: Call): Writes {
  const { name, args, folder } = call
  if (readers.has(name)) return nothing
  if (languages.test(name)) return byCode(call)
  switch (name) {
    case 'sed':
      return bySed(args)
    case 'sort':
      return files(readOptions(args, 'o|output= k|key= t|field-separator=').get('output') ?? [])
    case 'tee':
      return files(readOptions(args, 'a|append i p').operands)
    case 'tree':
      return args.some((arg) => arg.startsWith('-o')) ? anything(args) : nothing
    case 'uniq':
      return files(
        readOptions(
          args,
          'c|count d|repeated D u|unique i|ignore-case z f|skip-fields= s|skip-chars= w|check-chars='
        ).operands.slice(1)
      )
    case 'xxd':
      return files(readOptions(args, 'a b C E e i p|s r u c= d g= l= n= o= R=').operands.slice(1))
    case 'touch':
      return files(readOptions(args, 'a m c|no-create d|date= r|reference= t=').operands)
    case 'truncate':
      return files(readOptions(args, 's|size= r|reference= c|no-create o|io-blocks').operands)
    case 'mkdir':
    case 'rmdir':
      return nothing
    case 'rm':
    case 'unlink':
      return byRemoval(readOptions(args, 'r|R|recursive f|force i I v|verbose d|dir'))
    case 'chmod':
    case 'chown':
    case 'chgrp':
      return byMode(args)
    case 'cp':
    case 'install':
    case 'ln':
      return byCopy(args, folder)
    case 'mv':
      return byMove(args, folder)
    case 'dd':
      return files(args.flatMap((arg) => (arg.startsWith('of=') ? [arg.slice(3)] : [])))
    case 'find':
      return args.some((arg) => /^-(?:delete|fprint|fls)/.test(arg)) ? places(foldersOf(args)) : nothing
    case 'patch':
      return byPatch(call)
    case 'git':
      return byGit(args, folder)
    case 'npx':
      return writesOf({ ...call, name: args[0] ?? '', args: args.slice(1) })
    default: {
      const known = Object.hasOwn(formatters, name) ? formatters[name] : undefined
      if (known === undefined) return anything(args)
      const { operands } = readOptions(args, known)
      return places(operands.length === 0 ? ['.'] : operands)
    }
  }
}

/** Folders that `find` looks into. */
export function foldersOf(args: readonly string[]): readonly string[] {
  const end = args.findIndex((arg) => /^[-(!]/.test(arg))
  const folders = end === -1 ? args : args.slice(0, end)
  return folders.length === 0 ? ['.'] : folders
}

function bySed(args: readonly string[]): Writes {
  const options =
    'n|quiet|silent E|r|regexp-extended i|in-place? e|expression= f|file= s|separate z|null-data u|unbuffered l|line-length= b|binary debug posix sandbox follow-symlinks'
  const { has, operands } = readOptions(args, options)
  // By a command or a flag of its script it writes to a file that the script names.
  if (args.some((arg) => /(?:^|[;{}!$,\d/])\s*[gpIiMm\d]*w\s+\S/m.test(arg))) return anything([])
  if (!has('in-place')) return nothing
  // The sed of macOS takes the suffix of its backups as a word of its own.
  const words = operands.filter((word) => word !== '')
  return files(has('expression') || has('file') ? words : words.slice(1))
}

function byRemoval({ has, operands }: Options): Writes {
  return has('recursive') ? { isBounded: true, files: operands, places: operands } : files(operands)
}

function byMode(args: readonly string[]): Writes {
  const { has, operands } = readOptions(
    args,
    'R|recursive v|verbose c|changes f|silent|quiet reference= h|no-dereference'
  )
  // A mode such as -x looks like an option.
  const paths = operands.length === 1 && args.length > 1 ? operands : operands.slice(has('reference') ? 0 : 1)
  return has('recursive') ? places(paths) : files(paths)
}

function byCopy(args: readonly string[], folder: string): Writes {
  const { has, get, operands } = readOptions(
    args,
    'r|R|recursive a|archive f|force n|no-clobber p v|verbose u|update s|symbolic T|no-target-directory t|target-directory= m|mode= D'
  )
  const into = get('target-directory')?.at(-1)
  const sources = into === undefined ? operands.slice(0, -1) : operands
  const target = into ?? operands.at(-1)
  if (target === undefined) return nothing
  const made = sources.map((source) => (isFolder(folder, target) ? join(target, basename(source)) : target))
  return has('recursive') || has('archive') ? { isBounded: true, files: made, places: made } : files(made)
}

function byMove(args: readonly string[], folder: string): Writes {
  const { get, operands } = readOptions(args, 'f|force n|no-clobber i v|verbose u|update k T t|target-directory=')
  const into = get('target-directory')?.at(-1)
  const sources = into === undefined ? operands.slice(0, -1) : operands
  const target = into ?? operands.at(-1)
  if (target === undefined) return nothing
  const made = sources.map((source) => (isFolder(folder, target) ? join(target, basename(source)) : target))
  const all = [...sources, ...made]
  return { isBounded: true, files: all, places: all }
}

function byPatch({ args, input }: Call): Writes {
  const { get, operands } = readOptions(
    args,
    'p|strip= i|input= R|reverse N|forward s|silent|quiet f|force b|backup E d|directory= u o|output= F|fuzz= l'
  )
  const [file] = operands
  if (file !== undefined && get('directory') === undefined) return files([file])
  if (input === undefined || get('directory') !== undefined) return anything([])
  const strip = Number(get('strip')?.at(-1) ?? 0)
  const names = [...input.matchAll(/^(?:\+\+\+|---) ([^\t\n]+)/gm)].map(([, name = '']) =>
    name.split('/').slice(strip).join('/')
  )
  return files(names.filter((name) => name !== '' && name !== '/dev/null'))
}

function byGit(args: readonly string[], folder: string): Writes {
  const [verb = '', ...rest] = args
  if (gitReaders.has(verb)) return rest.some((arg) => arg.startsWith('--output')) ? anything([]) : nothing
  if (verb === 'mv') return byMove(rest, folder)
  if (verb === 'rm') {
    const { has, operands } = readOptions(rest, 'r|recursive f|force cached n|dry-run q|quiet')
    return has('cached') ? nothing : { isBounded: true, files: operands, places: operands }
  }
  const dashes = rest.indexOf('--')
  if ((verb !== 'checkout' && verb !== 'restore') || (dashes === -1 && verb === 'checkout')) return anything(rest)
  const paths =
    dashes === -1 ? readOptions(rest, 's|source= S|staged W|worktree q|quiet').operands : rest.slice(dashes + 1)
  return { isBounded: true, files: paths, places: paths }
}

const writing =
  /open\s*\([^)]*,\s*(?:mode\s*=\s*)?['"][rbt]*(?:[wax]|\+)|write_(?:text|bytes)|writeFile|appendFile|createWriteStream|unlink|\bremove\b|\brename|rmtree|shutil|\brm(?:Sync)?\(|truncate|File\.write/

/** Calls that take a path, and words behind which a program may write to a path that is not in its text. */
const pathCalls = /\b(?:open|Path|(?:write|append|read)File(?:Sync)?|unlink(?:Sync)?|rm(?:Sync)?|remove)\s*\(/g
const literalCalls =
  /\b(?:open|Path|(?:write|append|read)File(?:Sync)?|unlink(?:Sync)?|rm(?:Sync)?|remove)\s*\(\s*(?:'[^'\n]*'|"[^"\n]*")\s*[,)]/g
const opaque =
  /\b(?:argv|stdin|input|environ|env|exec\w*|eval|system|popen|Popen|subprocess|spawn\w*|fork|child_process|glob|walk\w*|listdir|scandir|iterdir|readdir\w*|rename\w*|replace|copy\w*|move|shutil|mkstemp|chdir|fetch|socket|http|urllib|requests)\b|`/

/** True if all paths of the program are in its text. */
function isTransparent(code: string): boolean {
  return !opaque.test(code) && code.match(pathCalls)?.length === code.match(literalCalls)?.length
}

/** A program in the command line names what it writes; a program in a file says nothing. */
function byCode({ name, args, input }: Call): Writes {
  if (name === 'perl' && args.some((arg) => /^-\w*i/.test(arg))) {
    const operands = args.filter((arg, at) => !arg.startsWith('-') && !/^-\w*e$/.test(args[at - 1] ?? ''))
    return { isBounded: false, files: operands, places: [] }
  }
  const at = args.findIndex((arg) => /^(?:-\w*[ce]|--eval|--print|-p)$/.test(arg))
  const code = at === -1 ? input : args[at + 1]
  if (code === undefined) return anything(args)
  const texts = [...code.matchAll(/'([^'\n]{1,300})'|"([^"\n]{1,300})"/g)].map(([, one, other]) => one ?? other ?? '')
  const names = texts.filter((text) => /^[\w./@ -]*\w$/.test(text) && /[./]/.test(text))
  const others = named(args.filter((_arg, place) => at === -1 || place !== at + 1))
  const isBounded = others.length === 0 && isTransparent(code)
  return writing.test(code)
    ? { isBounded, files: names, places: others }
    : { isBounded, files: [], places: [...names, ...others] }
}

function isFolder(folder: string, path: string): boolean {
  const place = toFolder(folder, path)
  return place !== undefined && existsSync(place) && orUndefined(() => statSync(place).isDirectory()) === true
}

export function callOf({ words, folder, input }: SimpleCommand): Call | undefined {
  const [first, ...others] = words
  if (first === undefined || folder === undefined) return undefined
  const name = first.text.slice(first.text.lastIndexOf('/') + 1)
  return { name, args: others.flatMap((word) => (word === undefined ? [] : [word.text])), folder, input }
}
