// Which files `find` finds, by its own words; undefined if one of them is not known here.
import { readdirSync, lstatSync, type Dirent } from 'node:fs'
import { basename, resolve } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { entryAt } from '../../support/is-there.ts'
import { createSlices } from '../../support/slices.ts'
import type { SimpleCommand } from '../../support/shell/simple-command.ts'
import { expandArguments, nameMatcher } from './expand.ts'

interface Entry {
  /** As `find` names it. */
  readonly shown: string
  readonly name: string
  readonly kind: 'f' | 'd' | 'l' | 'other'
  readonly full: string
}

type Test = (entry: Entry) => boolean

const maxEntries = 200_000
/** Put in place of a slash, which `*` of -path matches. */
const slash = '\uE000'

export async function findFiles({ words, folder }: SimpleCommand): Promise<string[] | undefined> {
  const args = folder === undefined ? undefined : expandArguments(words.slice(1), folder)
  if (folder === undefined || args === undefined) return undefined
  const first = args.findIndex((arg) => /^[-(!]/.test(arg))
  const begin = first === -1 ? args.length : first
  const starts = begin === 0 ? ['.'] : args.slice(0, begin)
  const query = parse(args.slice(begin))
  if (query === undefined) return undefined
  const found: string[] = []
  const { pause } = createSlices()
  let left = maxEntries
  const pending = starts.map((start) => ({ shown: start, depth: 0 }))
  while (pending.length > 0) {
    const { shown, depth } = pending.pop()!
    const full = resolve(folder, shown)
    const stat = entryAt(full)
    if (stat === undefined) continue
    if (--left < 0) return undefined
    await pause()
    const entry = { shown, name: basename(full), kind: kindOf(stat), full }
    if (depth >= query.minDepth && query.test(entry) && entry.kind !== 'd') found.push(full)
    if (entry.kind !== 'd' || depth >= query.maxDepth || query.isPruned(entry)) continue
    for (const name of orUndefined(() => readdirSync(full)) ?? [])
      pending.push({ shown: shown.endsWith('/') ? shown + name : `${shown}/${name}`, depth: depth + 1 })
  }
  return found
}

function kindOf(stat: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Entry['kind'] {
  return stat.isFile() ? 'f' : stat.isDirectory() ? 'd' : stat.isSymbolicLink() ? 'l' : 'other'
}

interface Query {
  readonly test: Test
  readonly isPruned: Test
  readonly minDepth: number
  readonly maxDepth: number
}

const actions = new Set(['-delete', '-print', '-print0', '-exec', '-execdir', '-ok', '-okdir'])

/** `a b -o c`: the files at which an action is reached, or all that match if there is none. */
function parse(args: readonly string[]): Query | undefined {
  let at = 0
  let [minDepth, maxDepth] = [0, Infinity]
  let hasAction = false
  let isKnown = true
  let reached = false
  let pruned = false
  const isDeleting = args.includes('-delete') || args.includes('-depth')

  function either(): Test {
    const options = [both()]
    while (args[at] === '-o' || args[at] === '-or') {
      at += 1
      options.push(both())
    }
    return (entry) => options.some((option) => option(entry))
  }

  function both(): Test {
    const parts: Test[] = []
    while (at < args.length && args[at] !== ')' && args[at] !== '-o' && args[at] !== '-or') {
      if (args[at] === '-a' || args[at] === '-and') at += 1
      else parts.push(one())
    }
    return (entry) => parts.every((part) => part(entry))
  }

  function one(): Test {
    const word = args[at++]!
    if (word === '!' || word === '-not') {
      const inner = at < args.length ? one() : unknown()
      return (entry) => !inner(entry)
    }
    if (word === '(') {
      const inner = either()
      if (args[at++] !== ')') return unknown()
      return inner
    }
    if (actions.has(word)) {
      hasAction = true
      if (word.startsWith('-exec') || word.startsWith('-ok')) {
        while (at < args.length && args[at] !== ';' && !(args[at] === '+' && args[at - 1] === '{}')) at += 1
        at += 1
      }
      return () => {
        reached = true
        return true
      }
    }
    return plain(word)
  }

  function plain(word: string): Test {
    switch (word) {
      case '-true':
      case '-depth':
      case '-d':
      case '-xdev':
      case '-mount':
      case '-noleaf':
        return () => true
      case '-false':
        return () => false
      case '-prune':
        return () => {
          pruned = true
          return true
        }
      case '-maxdepth':
        maxDepth = Number(args[at++])
        return () => true
      case '-mindepth':
        minDepth = Number(args[at++])
        return () => true
      case '-type': {
        const kinds = (args[at++] ?? '').split(',')
        return ({ kind }) => kinds.includes(kind)
      }
      case '-empty':
        return ({ full, kind }) => (kind === 'd' ? readdirSync(full).length === 0 : lstatSync(full).size === 0)
      case '-name':
      case '-iname':
      case '-path':
      case '-wholename':
      case '-ipath':
      case '-iwholename':
        return byPattern(word, args[at++] ?? '')
      default:
        return unknown()
    }
  }

  function byPattern(word: string, pattern: string): Test {
    const isPath = word.endsWith('path') || word.endsWith('wholename')
    const fold = (text: string) => (word.startsWith('-i') ? text.toLowerCase() : text)
    const form = (text: string) => fold(isPath ? text.replaceAll('/', slash) : text)
    const matches = nameMatcher(form(pattern))
    return matches === undefined ? unknown() : ({ shown, name }) => matches(form(isPath ? shown : name))
  }

  function unknown(): Test {
    isKnown = false
    return () => false
  }

  const test = args.length === 0 ? () => true : either()
  if (!isKnown || at < args.length || !Number.isFinite(minDepth)) return undefined
  return {
    test(entry) {
      reached = false
      const isMatch = test(entry)
      return hasAction ? reached : isMatch
    },
    isPruned(entry) {
      pruned = false
      test(entry)
      return pruned && !isDeleting
    },
    minDepth,
    maxDepth
  }
}
