// Rules of oxlint for the house: which part may import which. Imports run down the list of layers and never up.
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

/** Folders of a layer that know none of their neighbours. */
const alone = { 'src/engine/locks/': 'src/engine/', 'src/engine/diff/': 'src/engine/' }

/** What only some parts may import: packages by how their names begin, and files. */
const reserved = [
  { names: ['fastify', '@fastify/'], mayImport: ['src/program/', 'src/app.ts', 'plugins/'] },
  { names: ['@modelcontextprotocol/'], mayImport: ['src/transports/mcp/'] }
]

/** Run before every edit of a harness: they load nothing of the service. */
const light = ['src/program/guard/', 'src/program/cli/guard.ts', 'src/program/cli/discover.ts']
const heavy = ['src/app.ts', 'plugins/', 'src/transports/', 'src/operations/', 'src/config/', 'schemas/']

/** @returns what is wrong with an import, or undefined. @param from,to paths below the project, or the name of a package */
export function findFault(from, to) {
  const isIn = (path, part) => (part.endsWith('/') ? path.startsWith(part) : path === part)
  const isAny = (path, parts) => parts.some((part) => isIn(path, part))
  const layerOf = (path) => layers.findIndex((layer) => isIn(path, layer))
  const [own, other] = [layerOf(from), layerOf(to)]
  if (own === -1) return undefined
  for (const { names, mayImport } of reserved)
    if (names.some((name) => to.startsWith(name)) && !isAny(from, mayImport))
      return `${to} may be imported by ${mayImport.join(', ')} alone.`
  if (other === -1) return undefined
  if (other < own)
    return `${layers[own]} lies below ${layers[other]}: imports run down the list in scripts/lint/layers.mjs.`
  for (const [folder, neighbours] of Object.entries(alone))
    if (isIn(from, folder) && isIn(to, neighbours) && !isIn(to, folder))
      return `${folder} knows nothing of ${neighbours}.`
  if (isAny(from, light) && isAny(to, heavy)) return 'The guard and discover load nothing of the service.'
  if (isIn(from, 'src/client/') && !isIn(to, 'src/client/') && !isIn(to, 'schemas/'))
    return 'The client imports its own files, and types of schemas/.'
  return undefined
}

const rule = {
  create(context) {
    const from = toPath(context.filename)
    const check = (node, source) => {
      if (typeof source?.value !== 'string') return
      const isFile = source.value.startsWith('.')
      const to = isFile ? toPath(resolve(dirname(context.filename), source.value)) : source.value
      const message =
        findFault(from, to) ??
        (from.startsWith('src/client/') && isOutside(to) && (node.importKind ?? node.exportKind) !== 'type'
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

const isOutside = (path) => !path.startsWith('src/client/')

const toPath = (path) => relative(root, path).split(sep).join('/')

export default { meta: { name: 'house' }, rules: { layers: rule } }
