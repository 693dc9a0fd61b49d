// What a shell knows at a place of a command line, and what words and redirections stand for there.
import type { Assignment, Function, Redirection, Word, WordPart } from 'unbash'
import type { Argument, SimpleCommand } from './simple-command.ts'
import { resolveText, resolveWord, type WordScope } from './words.ts'

export interface Scope {
  folder: string | undefined
  previous: string | undefined
  readonly variables: Map<string, string | undefined>
  readonly functions: Map<string, Function['body']>
  readonly pipedFrom: readonly SimpleCommand[]
}

export interface Surroundings {
  readonly cwd: string
  readonly home: string | undefined
  /** The top of the working tree of a folder. */
  readonly topOf: (folder: string) => string | undefined
}

export function copy(scope: Scope): Scope {
  return { ...scope, variables: new Map(scope.variables), functions: new Map(scope.functions) }
}

export function createReader({ home, topOf }: Surroundings) {
  function wordScope(scope: Scope): WordScope {
    return {
      home,
      valueOf(name) {
        if (scope.variables.has(name)) return scope.variables.get(name)
        return name === 'HOME' ? home : name === 'PWD' ? scope.folder : undefined
      },
      outputOf: (part) => outputOf(part, scope)
    }
  }

  /** Of the two commands that are asked for a folder. */
  function outputOf(part: Extract<WordPart, { type: 'CommandExpansion' }>, scope: Scope): string | undefined {
    const words = part.text
      .replace(/^\$\(|^`|\)$|`$/g, '')
      .trim()
      .split(/\s+/)
      .join(' ')
    if (words === 'pwd') return scope.folder
    const isTop = words === 'git rev-parse --show-toplevel' || words === 'git rev-parse --show-toplevel 2>/dev/null'
    return isTop && scope.folder !== undefined ? topOf(scope.folder) : undefined
  }

  function argumentsOf(arg: Word | Assignment, scope: Scope): readonly Argument[] {
    if (arg.type === 'Word') return resolveWord(arg, wordScope(scope)) ?? [undefined]
    const value = valueOf(arg, scope)
    return [value === undefined ? undefined : { text: `${arg.name}=${value}` }]
  }

  function valueOf({ value, append, index }: Assignment, scope: Scope): string | undefined {
    if (append === true || index !== undefined || value.type !== 'Word') return undefined
    return resolveText(value, wordScope(scope))
  }

  function outputsOf(redirects: readonly Redirection[], scope: Scope): readonly Argument[] {
    return redirects.flatMap((one): readonly Argument[] => {
      if (one.type !== 'Redirect' || !one.operator.includes('>') || one.operator === '>&') return []
      return one.target === undefined ? [] : (resolveWord(one.target, wordScope(scope)) ?? [undefined])
    })
  }

  function inputOf(one: Redirection, scope: Scope): string | undefined {
    if (one.type === 'HereString') return one.target && resolveText(one.target, wordScope(scope))
    if (one.type !== 'HereDoc') return undefined
    return one.delimiter?.quoted === true || !/[$`\\]/.test(one.body.text) ? one.body.text : undefined
  }

  return { wordScope, argumentsOf, valueOf, outputsOf, inputOf }
}
