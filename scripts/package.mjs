// npm run package: what people install, in packages/: a Claude Code plugin, a Gemini CLI extension, an .mcpb bundle, and server.json for the MCP registry.
// Each contains the package as npm would install it, so that it starts without a download.
// usage: node scripts/package.mjs
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npmCommand } from './npm.mjs'
import { projectRoot, prepare } from './prepare.mjs'
import { besideHooks, long, marketplace, title } from './store-words.mjs'

const output = join(projectRoot, 'packages')
const main = 'server/node_modules/async-crud-mcp/dist/main.cjs'
const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
const { name, version, description, license, homepage, keywords, bugs, mcpName, repository } = manifest
const source = repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
const author = { name: `${name} contributors`, url: homepage }

prepare()
const { hookSets } = await import('../dist/src/program/setup/hook-sets.js')
const work = mkdtempSync(join(tmpdir(), 'async-crud-mcp-package-'))
try {
  rmSync(output, { recursive: true, force: true })
  say('packing, and installing what it needs')
  const server = install(work)
  say('writing packages/')
  makePlugin(server)
  makeExtension(server)
  makeBundle(server)
  write('server.json', registryEntry())
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** Each step takes seconds. */
function say(step) {
  console.error(`${name}: ${step} ...`)
}

/** @returns a folder whose node_modules has the package and what it needs */
function install(folder) {
  const [program, ...first] = npmCommand()
  const npm = (args, cwd) =>
    execFileSync(program, [...first, ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const [{ filename }] = JSON.parse(
    npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], projectRoot)
  )
  const server = join(folder, 'server')
  mkdirSync(server)
  writeFileSync(join(server, 'package.json'), '{"private":true}\n')
  // Links to commands would be copied with the path of this folder, which is deleted.
  const flags = ['--omit=dev', '--bin-links=false', '--no-audit', '--no-fund', '--ignore-scripts']
  npm(['install', ...flags, join(folder, filename)], server)
  for (const name of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json'])
    rmSync(join(server, name), { force: true })
  return server
}

function makePlugin(server) {
  const root = '${CLAUDE_PLUGIN_ROOT}'
  const shown = { name, displayName: title, description: besideHooks('Claude Code'), keywords, homepage, license }
  write('claude-code/.claude-plugin/plugin.json', { ...shown, version, author, repository: source })
  write('claude-code/.mcp.json', {
    mcpServers: {
      [name]: {
        command: 'node',
        args: [`${root}/${main}`, '--stdio', '--dir', '${CLAUDE_PROJECT_DIR:-.}', '--tools', 'beside']
      }
    }
  })
  write('claude-code/hooks/hooks.json', {
    description: 'Puts native edits into the queues of async-crud-mcp.',
    hooks: hooksOf('claude-code', root)
  })
  add(server, 'claude-code')
  write('.claude-plugin/marketplace.json', {
    name,
    description: marketplace,
    owner: author,
    plugins: [{ ...shown, source: './claude-code', category: 'development' }]
  })
}

function makeExtension(server) {
  write('gemini/gemini-extension.json', {
    name,
    version,
    description: besideHooks('Gemini CLI'),
    mcpServers: {
      [name]: {
        command: 'node',
        args: [`\${extensionPath}/${main}`, '--stdio', '--dir', '${workspacePath}', '--tools', 'beside']
      }
    }
  })
  write('gemini/hooks/hooks.json', { hooks: hooksOf('gemini', '${extensionPath}') })
  add(server, 'gemini')
}

/** Those that `setup` writes. */
function hooksOf(harness, root) {
  const { events, timeout } = hookSets[harness]
  const hook = { type: 'command', command: `node "${root}/${main}" hook ${harness}`, timeout }
  return Object.fromEntries(Object.entries(events).map(([event, matcher]) => [event, [{ matcher, hooks: [hook] }]]))
}

/** A folder for `mcpb pack`. */
function makeBundle(server) {
  write('mcpb/manifest.json', {
    manifest_version: '0.3',
    name,
    display_name: title,
    version,
    description,
    long_description: long,
    author,
    repository: { type: 'git', url: source },
    homepage,
    documentation: `${source}/tree/main/docs`,
    support: bugs,
    icon: 'icon.png',
    keywords,
    license,
    server: {
      type: 'node',
      entry_point: main,
      mcp_config: {
        command: 'node',
        args: [`\${__dirname}/${main}`, '--stdio', '--dir', '${user_config.folder}'],
        env: {}
      }
    },
    tools_generated: true,
    compatibility: { runtimes: { node: '>=20.19' } },
    user_config: {
      folder: {
        type: 'directory',
        title: 'Folder',
        description: 'Only files below this folder can be read and changed.',
        required: true
      }
    }
  })
  add(server, 'mcpb')
  cpSync(join(projectRoot, 'docs/images/icon.png'), join(output, 'mcpb/icon.png'))
}

function registryEntry() {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title,
    description: 'Many agents change the files of one tree at once, and no update is lost.',
    version,
    websiteUrl: homepage,
    repository: { url: source, source: 'github' },
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        transport: { type: 'stdio' },
        packageArguments: [
          { type: 'named', name: '--stdio' },
          { type: 'named', name: '--dir', description: 'The folder to serve.', format: 'filepath', isRequired: true }
        ]
      }
    ]
  }
}

function add(server, folder) {
  cpSync(server, join(output, folder, 'server'), { recursive: true })
  cpSync(join(projectRoot, 'LICENSE'), join(output, folder, 'LICENSE'))
}

function write(path, value) {
  const file = join(output, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`)
  process.stdout.write(`${file}\n`)
}
