// The page about the plugins: which object of the service has which type, where it is made and who uses it. Read from the sources.
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { installed } from '../src/support/installation.ts'
import { wrap } from './wrap.ts'

const introduction = `# The objects of the service

After this page you know every object that the plugins put on the Fastify instance, its type, and what uses it. It is
made from \`src/app.ts\` and the plugins by \`npm run generate\`. Plugins are listed in the order in which
\`src/app.ts\` registers them: each uses only what stands above it, or asks later for what stands below.`

interface Member {
  readonly name: string
  readonly type: string
}

interface Plugin {
  /** Below plugins/, without the extension. */
  readonly path: string
  readonly text: string
  readonly members: readonly Member[]
}

interface Group {
  readonly title: string
  readonly plugins: readonly Plugin[]
}

export function describePlugins(): string {
  const groups = readGroups(read('src/app.ts'))
  const plugins = groups.flatMap((group) => group.plugins)
  const users = [
    ...plugins.map(({ path, text }) => ({ user: link(path), uses: usedBy(text) })),
    ...['src/app.ts', 'src/program/cli/serve.ts'].map((path) => ({ user: `\`${path}\``, uses: usedBy(read(path)) }))
  ]
  const row = (plugin: Plugin, { name, type }: Member): string => {
    const found = users.filter(({ user, uses }) => user !== link(plugin.path) && uses.has(name)).map(({ user }) => user)
    return `| \`app.${name}\` | ${typeLink(plugin, type)} | ${found.join(', ')} |`
  }
  const section = (plugin: Plugin): string[] => [
    wrap(`${link(plugin.path)}: ${purposeOf(plugin.text)}`),
    '',
    ...(plugin.members.length === 0
      ? []
      : ['| object | type | used by |', '| --- | --- | --- |', ...plugin.members.map((one) => row(plugin, one)), ''])
  ]
  return [
    introduction,
    '',
    ...groups.flatMap(({ title, plugins: own }) => [`## ${title}`, '', ...own.flatMap(section)])
  ]
    .join('\n')
    .replace(/\n+$/, '\n')
}

const read = (path: string): string => readFileSync(installed(path), 'utf8')

const link = (path: string): string => `[${posix.basename(path)}](${path}.ts)`

/** The comments of `createApp` divide the registrations. */
function readGroups(app: string): Group[] {
  const paths = new Map(
    [...app.matchAll(/^import (\w+).* from '\.\.\/plugins\/(.+)\.ts'$/gm)].map(([, name = '', path = '']) => [
      name,
      path
    ])
  )
  const groups: { title: string; plugins: Plugin[] }[] = []
  for (const [, title, name = ''] of app.matchAll(/^ {2}(?:\/\/ (.*)\.|await app\.register\((\w+).*\))$/gm)) {
    const path = paths.get(name)
    if (title !== undefined) groups.push({ title, plugins: [] })
    else if (path === undefined) throw new Error(`src/app.ts registers ${name}, which is no plugin.`)
    else groups.at(-1)?.plugins.push(readPlugin(path))
  }
  const found = groups.filter(({ plugins }) => plugins.length > 0)
  if (found.flatMap(({ plugins }) => plugins).length !== paths.size)
    throw new Error('src/app.ts registers not all plugins, or has no comment above the first one.')
  return found
}

function readPlugin(path: string): Plugin {
  const text = read(`plugins/${path}.ts`)
  const [, body = ''] = /^ {2}interface FastifyInstance \{\n([^]*?)^ {2}\}$/m.exec(text) ?? []
  const members = [...body.matchAll(/^ {4}(\w+)\??: ([^]*?)(?=\n {4}(?:\w|\/\*)|\n$)/gm)]
  return { path, text, members: members.map(([, name = '', type = '']) => ({ name, type })) }
}

/** The first line, without the names of the objects that the table has. */
function purposeOf(text: string): string {
  const [, line = ''] = /^\/\/ (.*)\n/.exec(text) ?? []
  return line.replace(/^(?:app\.\w+(?:, )?)+: /, '').replaceAll('<', '\\<')
}

function typeLink({ path, text }: Plugin, type: string): string {
  if (type.includes('\n')) return '`{ ... }`'
  const [name = ''] = /^\w+/.exec(type) ?? []
  const [, from] = new RegExp(`^import [^']*\\b${name}\\b[^']*'(\\..*)'$`, 'm').exec(text) ?? []
  const shown = `\`${type.replaceAll('|', '\\|')}\``
  return name === '' || from === undefined ? shown : `[${shown}](${posix.join(posix.dirname(path), from)})`
}

/** The members of the instance that a text names, by `app.name` or out of `app` as a whole. */
function usedBy(text: string): Set<string> {
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  const single = [...code.matchAll(/\bapp\.(\w+)/g)].map(([, name = '']) => name)
  const several = [...code.matchAll(/const \{([^}]*)\} = app\b/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim().split(':')[0] ?? '')
  )
  return new Set([...single, ...several])
}
