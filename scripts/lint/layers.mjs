// Rules of oxlint for the house: which part may import which, and how a file is read as text. Imports run down the list of layers and never up.
import { relative, resolve, dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** From top to bottom. A folder ends with a slash. */
export const layers = [
  'src/main.ts',
  'src/program/',
  'src/app.ts',
  'plugins/',
  'src/transports/',
  'src/operations/',
  'src/tree/',
  'src/config/',
  'src/engine/',
  'src/errors.ts',
  'src/client/',
  'src/support/',
  'schemas/'
]

const service = ['src/app.ts', 'plugins/', 'src/transports/', 'src/operations/']

/** What the layers allow, and is refused all the same: folders, files, packages by how their names begin, `*` for any package. */
const bans = [
  { from: ['schemas/'], to: ['*'], allowed: '@sinclair/typebox', why: 'The contract imports TypeBox only.' },
  { from: ['src/client/'], to: ['*'], why: 'The client depends on nothing at run time.' },
  { from: ['src/client/'], to: ['src/'], why: 'The client imports types of schemas/ only.' },
  { from: ['src/engine/locks/', 'src/engine/diff/'], to: ['src/engine/'], why: 'They know none of their neighbours.' },
  {
    from: ['src/engine/files/'],
    to: ['src/engine/locks/', 'src/engine/diff/'],
    why: 'Files know no lock and no diff.'
  },
  { from: ['src/tree/state/'], to: ['src/engine/diff/'], why: 'The state of a tree compares no texts.' },
  {
    from: ['src/program/setup/', 'src/program/service/'],
    to: [...service, 'src/engine/locks/', 'src/engine/diff/'],
    why: 'What is set up outside of the server loads nothing of the server.'
  },
  {
    from: ['src/program/hook/', 'src/program/cli/guard.ts', 'src/program/cli/discover.ts'],
    to: [...service, 'src/config/', 'src/engine/locks/', 'src/engine/diff/', 'src/errors.ts', 'schemas/'],
    why: 'Harnesses run them before every edit: they load nothing of the service.'
  },
  {
    from: ['src/'],
    exempt: ['src/program/cli/', 'src/app.ts'],
    to: ['fastify', '@fastify/'],
    why: 'Only the service and its plugins import Fastify.'
  },
  {
    from: ['src/', 'plugins/'],
    exempt: ['src/transports/mcp/'],
    to: ['@modelcontextprotocol/'],
    why: 'Only src/transports/mcp imports the MCP SDK.'
  }
]

/** @returns why an import is refused, or undefined. @param from,to paths below the project, or the name of a package */
function findFault(from, to, isFile) {
  const [own, other] = [from, isFile ? to : ''].map((path) => layers.findIndex((layer) => path.startsWith(layer)))
  if (own === -1) return undefined
  if (other !== -1 && other < own)
    return `${layers[own]} lies below ${layers[other]}: imports run down the list in scripts/lint/layers.mjs.`
  return bans.find((ban) => isBanned(ban, from, to, isFile))?.why
}

/** The own folder of a ban's source is never meant. */
function isBanned({ from: sources, exempt = [], to: targets, allowed }, from, to, isFile) {
  const source = sources.find((part) => from.startsWith(part))
  if (source === undefined || exempt.some((part) => from.startsWith(part))) return false
  if (isFile) return !to.startsWith(source) && targets.some((part) => to.startsWith(part))
  return to !== allowed && targets.some((name) => name === '*' || to.startsWith(name))
}

const rule = {
  create(context) {
    const from = toPath(context.filename)
    const check = (node, source) => {
      if (typeof source?.value !== 'string') return
      const isFile = source.value.startsWith('.')
      const to = isFile ? toPath(resolve(dirname(context.filename), source.value)) : source.value
      const message =
        findFault(from, to, isFile) ??
        (from.startsWith('src/client/') &&
        !to.startsWith('src/client/') &&
        (node.importKind ?? node.exportKind) !== 'type'
          ? 'The client depends on nothing at run time: import type.'
          : undefined)
      if (message !== undefined) context.report({ node: source, message })
    }
    return {
      ImportDeclaration: (node) => check(node, node.source),
      ExportNamedDeclaration: (node) => check(node, node.source),
      ExportAllDeclaration: (node) => check(node, node.source),
      ImportExpression: (node) => check(node, node.source)
    }
  }
}

/** See src/support/read-text.ts for the reason. */
const readText = {
  create: (context) => ({
    CallExpression(node) {
      const { callee } = node
      const name = callee.type === 'MemberExpression' ? callee.property.name : callee.name
      if (name === 'readFileSync' && node.arguments.length > 1)
        context.report({
          node,
          message: 'Read text by readText of src/support/read-text.ts, and bytes without options.'
        })
    }
  })
}

const toPath = (path) => relative(root, path).split(sep).join('/')

export default { meta: { name: 'house' }, rules: { layers: rule, 'read-text': readText } }
