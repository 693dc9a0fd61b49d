// The simple commands of a command line, each with the folder that it runs in, found in the syntax tree of a shell parser.
import { forEachChild, parse } from 'unbash'
import type { AndOr, Command, CompoundList, For, PipelineNode, Redirection, Statement, SyntaxNode } from 'unbash'
import { resolveWord } from './words.ts'
import { copy, createReader, type Scope, type Surroundings } from './scope.ts'
import { toFolder, type Argument, type CommandLine, type SimpleCommand } from './simple-command.ts'
import { unwrap } from './unwrap.ts'

const maxTextLength = 131_072
/** Commands, loops and what they consist of; each round of a loop counts. */
const maxSteps = 5000
const maxDepth = 16
const maxRounds = 100

type Walkable = Statement | CompoundList | PipelineNode | AndOr

export function readCommandLine(text: string, surroundings: Surroundings): CommandLine {
  const { cwd, home } = surroundings
  const { wordScope, argumentsOf, valueOf, outputsOf, inputOf } = createReader(surroundings)
  const commands: SimpleCommand[] = []
  const unknown: string[] = []
  let depth = 0
  let steps = 0

  function walkText(source: string, scope: Scope): void {
    if (source.length > maxTextLength) return void unknown.push('it is too long')
    const { commands: statements, errors } = parse(source)
    if (errors !== undefined && errors.length > 0) unknown.push(`it could not be parsed (${errors[0]!.message})`)
    deeper(() => walkAll(statements, scope))
  }

  function deeper(step: () => void): void {
    if (depth >= maxDepth) return void unknown.push('its commands call one another too deeply')
    depth += 1
    step()
    depth -= 1
  }

  function walkAll(statements: readonly Statement[], scope: Scope): void {
    for (const { command, background } of statements) {
      if (steps >= maxSteps) return
      walk(command, background === true ? copy(scope) : scope)
    }
  }

  /** What may run or not: afterwards it is open what it has changed. */
  function maybe(scope: Scope, nodes: readonly (Walkable | undefined)[]): void {
    const own = copy(scope)
    for (const node of nodes) if (node !== undefined) walk(node, own)
    if (own.folder !== scope.folder) scope.folder = undefined
    for (const [name, value] of own.variables)
      if (scope.variables.get(name) !== value) scope.variables.set(name, undefined)
  }

  function walk(node: Walkable, scope: Scope): void {
    steps += 1
    if (steps === maxSteps) unknown.push('it has too many commands')
    if (steps >= maxSteps) return
    switch (node.type) {
      case 'Statement':
        return walk(node.command, scope)
      case 'CompoundList':
        return walkAll(node.commands, scope)
      case 'AndOr':
        for (const [index, command] of node.commands.entries())
          walk(command, node.operators[index - 1] === '||' ? copy(scope) : scope)
        return
      case 'Pipeline': {
        if (node.commands.length === 1) return walk(node.commands[0]!, scope)
        let pipedFrom: readonly SimpleCommand[] = scope.pipedFrom
        for (const command of node.commands) {
          if (steps >= maxSteps) return
          const first = commands.length
          walk(command, { ...copy(scope), pipedFrom })
          pipedFrom = commands.slice(first)
        }
        return
      }
      case 'Subshell':
        return walkAll(node.body.commands, copy(scope))
      case 'BraceGroup':
        return walkAll(node.body.commands, scope)
      case 'Redirected':
        walk(node.command, scope)
        return add([], node.redirects, scope)
      case 'If':
        walk(node.clause, scope)
        maybe(scope, [node.then])
        for (const branch of node.elif) maybe(scope, [branch.clause, branch.then])
        return maybe(scope, [node.else])
      case 'For':
        return walkFor(node, scope)
      case 'While':
        return maybe(scope, [node.clause, node.body])
      case 'ArithmeticFor':
        return maybe(scope, [node.body])
      case 'Select':
        return maybe(scope, [node.body])
      case 'Case':
        for (const { body } of node.items) maybe(scope, [body])
        return
      case 'Function':
        return void scope.functions.set(node.name.value, node.body)
      case 'Coproc':
        return walk(node.body, copy(scope))
      case 'Command':
        return walkCommand(node, scope)
      case 'TestCommand':
      case 'ArithmeticCommand':
        return walkExpansions([node], scope)
      default:
        return node satisfies never
    }
  }

  function walkFor({ name, wordlist, body }: For, scope: Scope): void {
    const resolved = wordlist?.map((word) => resolveWord(word, wordScope(scope)))
    const values = resolved?.every((fields) => fields?.every(({ pattern }) => pattern === undefined))
      ? resolved.flatMap((fields) => fields!.map(({ text: value }) => value))
      : undefined
    if (values !== undefined && values.length <= maxRounds) {
      for (const value of values) {
        if (steps >= maxSteps) return
        scope.variables.set(name.value, value)
        walk(body, scope)
      }
      return
    }
    scope.variables.set(name.value, undefined)
    maybe(scope, [body])
  }

  function walkCommand(node: Command, scope: Scope): void {
    walkExpansions([...node.prefix, ...node.suffix, ...(node.name === undefined ? [] : [node.name])], scope)
    const own = new Map<string, string | undefined>()
    for (const one of node.prefix) if (one.type === 'Assignment') own.set(one.name, valueOf(one, scope))
    if (node.name === undefined) {
      for (const [name, value] of own) scope.variables.set(name, value)
      return add([], node.redirects, scope)
    }
    const words = [node.name, ...node.args].flatMap((arg) => argumentsOf(arg, scope))
    const inner: Scope = own.size === 0 ? scope : { ...scope, variables: new Map([...scope.variables, ...own]) }
    run(words, node.redirects, inner, scope)
  }

  /** @param own what the command sees; `shell` is what a builtin changes */
  function run(words: readonly Argument[], redirects: readonly Redirection[], own: Scope, shell: Scope): void {
    const name = words[0]?.text
    const body = name === undefined ? undefined : shell.functions.get(name)
    if (body !== undefined) return deeper(() => walk(body, shell))
    if (name !== undefined && builtin(name, words, shell)) return add([], redirects, shell)
    const input = redirects.map((one) => inputOf(one, own)).find((one) => one !== undefined)
    const found = unwrap({ words, folder: own.folder, variables: own.variables, input, pipedFrom: own.pipedFrom })
    if (found.kind === 'text') walkText(found.text, { ...copy(own), folder: found.folder })
    else if (found.kind === 'unknown') unknown.push(found.why)
    else for (const command of found.commands) commands.push({ ...command, outputs: outputsOf(redirects, own) })
    if (found.kind !== 'commands') add([], redirects, own)
  }

  function builtin(name: string, words: readonly Argument[], shell: Scope): boolean {
    switch (name) {
      case 'cd':
      case 'pushd': {
        const operands = words.slice(1).filter((word) => word === undefined || !/^-[LPe@]+$|^--$/.test(word.text))
        change(shell, operands.length === 0 ? { text: home ?? '' } : operands.length === 1 ? operands[0] : undefined)
        return true
      }
      case 'popd':
        change(shell, { text: '-' })
        return true
      case 'export':
      case 'declare':
      case 'local':
      case 'readonly':
      case 'typeset':
        for (const word of words.slice(1)) {
          const [, variable, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word?.text ?? '') ?? []
          if (variable !== undefined) shell.variables.set(variable, value)
        }
        return true
      case 'read':
      case 'mapfile':
      case 'readarray':
      case 'unset':
        for (const word of words.slice(1)) if (word !== undefined) shell.variables.set(word.text, undefined)
        return true
      case 'eval':
      case 'trap': {
        const parts = name === 'trap' ? words.slice(1, 2) : words.slice(1)
        const texts = parts.map((word) => word?.text)
        if (texts.includes(undefined)) unknown.push(`what "${name}" runs cannot be told from the line`)
        else walkText(texts.join(' '), name === 'trap' ? copy(shell) : shell)
        return true
      }
      default:
        return false
    }
  }

  function change(shell: Scope, target: Argument): void {
    const to = target?.pattern === undefined ? target?.text : undefined
    const { folder } = shell
    shell.folder = to === undefined || to === '' ? undefined : to === '-' ? shell.previous : toFolder(folder, to)
    shell.previous = folder
  }

  /** The commands within words: `$(...)`, backquotes, `<(...)`. */
  function walkExpansions(nodes: readonly SyntaxNode[], scope: Scope): void {
    for (const node of nodes) {
      if (node.type === 'Word' && node.parts === undefined) continue
      const script = node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution' ? node.script : undefined
      if (script !== undefined) deeper(() => walkAll(script.commands, copy(scope)))
      else forEachChild(node, (child) => walkExpansions([child], scope))
    }
  }

  function add(words: readonly Argument[], redirects: readonly Redirection[], scope: Scope): void {
    const outputs = outputsOf(redirects, scope)
    const { folder, variables, pipedFrom } = scope
    if (outputs.length > 0) commands.push({ words, folder, variables, outputs, pipedFrom })
  }

  walkText(text, { folder: cwd, previous: undefined, variables: new Map(), functions: new Map(), pipedFrom: [] })
  return { commands, unknown }
}
