// Makes the program as it is shipped: all its modules and those of its packages in a few files, which Node finds and compiles at once.
// Where there are tests, each file of them likewise: to load their modules one by one takes longer than most of them run.
// usage: node scripts/bundle.mjs <folder to which the sources have been compiled>
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { compileValidators } from './compile-validators.mjs'
import { projectRoot } from './prepare.mjs'

const [folder] = process.argv.slice(2)
const tests = join(projectRoot, 'test')
/** Not in an image, which has no types. */
const clientTypes = join(folder, 'scripts/client-types.js')
const validators = await compileValidators(folder)

const common = {
  platform: 'node',
  resolve: {
    alias: {
      // Its main file hides what it requires from a bundler.
      'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
      // Machine code for an option of piscina that the program does not use.
      '@napi-rs/nice': false
    }
  },
  checks: { ineffectiveDynamicImport: false },
  plugins: [
    {
      name: 'threads',
      transform: (code, id) => (/[\\/]piscina[\\/]dist[\\/]index\.js$/.test(id) ? beginThreadsInBundle(code) : null)
    },
    {
      name: 'ascii',
      // Node reads a file without other characters ten times as fast, and V8 keeps it in half the memory.
      generateBundle(_, files) {
        for (const file of Object.values(files)) if (file.type === 'chunk') file.code = toAscii(file.code)
      }
    }
  ]
}
/** Machine code, and what its user may add. */
const external = ['fs-native-extensions', '@opentelemetry/api']

/** All imports of a file as oxfmt lays it out. */
const imports = /[^]*^(?:import|\}) .*from '.*'$/m

/** Puts what a test file awaits at its top level into a function: CommonJS, whose compiled code can be kept, has no such await. */
const awaiting = {
  name: 'awaiting',
  transform: (code, id) => (id.endsWith('.test.ts') ? `${code.replace(imports, '$&;(async () => {')}})()` : null)
}

const modules = await Promise.all([bundleBoard(), bundlePieces()])
copyApiPage()
if (existsSync(clientTypes)) await writeTypes()
await Promise.all([bundleProgram(modules.flat()), existsSync(tests) && bundleTests()])

/** Piscina looks for the start of a thread beside its own file; in the bundle it lies beside what the thread runs. */
function beginThreadsInBundle(code) {
  const beside = "(0, node_path_1.resolve)(__dirname, 'worker.js')"
  if (!code.includes(beside)) throw new Error(`piscina no longer says ${beside}: see where it starts a thread.`)
  return { code: code.replace(beside, "(0, node_path_1.resolve)(this.options.filename, '../thread.cjs')"), map: null }
}

async function bundleProgram(otherModules) {
  const input = {
    main: join(projectRoot, 'src/main.ts'),
    worker: join(projectRoot, 'src/engine/diff/worker.ts'),
    thread: join(projectRoot, 'node_modules/piscina/dist/worker.js')
  }
  const bundle = await rolldown({ ...common, input, external })
  const { output } = await bundle.write({
    dir: folder,
    // Older versions of Node keep what they compiled of such modules alone: src/program/cli/compile-cache.ts.
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    // The hash names the content: what was compiled of it is never taken for that of another.
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    // The text of each loaded module stays in memory.
    comments: false,
    sourcemap: true
  })
  writeFileSync(join(folder, 'licenses.txt'), collectLicenses([...otherModules, ...modulesOf(output)]))
}

/** What src/support/pieces.ts loads. @returns their modules */
async function bundlePieces() {
  const bundle = await rolldown({ ...common, input: { ...validators, encodings: 'iconv-lite' } })
  const { output } = await bundle.write({
    dir: join(folder, 'chunks'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    minify: true
  })
  return modulesOf(output)
}

/** The page at /board: one script, one style sheet. @returns its modules */
async function bundleBoard() {
  const board = join(projectRoot, 'board')
  const bundle = await rolldown({ input: join(board, 'main.ts'), platform: 'browser' })
  const { output } = await bundle.write({ file: join(folder, 'page', 'board.js'), format: 'esm', minify: true })
  for (const name of ['index.html', 'icon.svg']) copyFileSync(join(board, name), join(folder, 'page', name))
  const own = ['base', 'controls', 'frame', 'list', 'attention', 'now', 'changes', 'burns', 'replay'].map((name) =>
    join(board, `style/${name}.css`)
  )
  const styles = [join(projectRoot, 'node_modules/uplot/dist/uPlot.min.css'), ...own]
  writeFileSync(join(folder, 'page', 'board.css'), styles.map((path) => readFileSync(path, 'utf8')).join('\n'))
  return modulesOf(output)
}

/** Swagger UI, as @fastify/swagger-ui contains it: the files alone, without the report that the package of that name makes of each installation. */
function copyApiPage() {
  const source = join(projectRoot, 'node_modules/@fastify/swagger-ui/static')
  for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'])
    copyFileSync(join(source, name), join(folder, 'page', name))
}

/** In place of what tsc has written, which needs all schemas and TypeBox. */
async function writeTypes() {
  const { writeClientTypes } = await import(pathToFileURL(clientTypes).href)
  writeFileSync(join(folder, 'src/client/contract.d.ts'), writeClientTypes())
}

function modulesOf(output) {
  // Those of the bundler itself begin so, among them one in place of each package that is left out.
  return output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => !id.startsWith('\0'))
}

/** Of the packages that are in the bundle, and so no longer come with their own files. */
function collectLicenses(modules) {
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'))?.[0])
  const texts = [...new Set(folders)].filter(Boolean).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    return `${name} ${version}: ${license}\n${text}`
  })
  const apache = readFileSync(join(projectRoot, 'scripts/apache-2.0.txt'), 'utf8')
  texts.push(`swagger-ui (dist/page/swagger-ui-bundle.js, dist/page/swagger-ui.css): Apache-2.0\n\n${apache}`)
  return `The program contains these packages.\n\n${texts.sort().join('\n')}`
}

async function bundleTests() {
  const files = readdirSync(tests, { recursive: true }).map((path) => path.replaceAll('\\', '/'))
  // Test files, and what they run in processes and threads of their own.
  const entries = files.filter((path) => /(\.test|-program|-thread)\.ts$/.test(path))
  const tools = ['oazapfts', /^@redocly\//, 'typescript', 'playwright-core', 'axe-core']
  const bundleInto = async (format, extension, paths) => {
    const input = Object.fromEntries(paths.map((path) => [path.replace(/\.ts$/, ''), join(tests, path)]))
    // For what is loaded before each file.
    if (format === 'cjs') input['compile-cache'] = join(projectRoot, 'src/program/cli/compile-cache.ts')
    const plugins = [awaiting, ...common.plugins]
    const bundle = await rolldown({ ...common, plugins, input, external: [...external, ...tools] })
    await bundle.write({
      dir: join(folder, 'suites'),
      format,
      dynamicImportInCjs: false,
      entryFileNames: `[name].${extension}`,
      chunkFileNames: `chunks/[name]-[hash].${extension}`
    })
  }
  // In CommonJS an import() becomes a require(), which does not load a module that a test has written.
  const isPlain = (path) => path.endsWith('.test.ts') && !/import\([a-z]/.test(readFileSync(join(tests, path), 'utf8'))
  await bundleInto('cjs', 'cjs', entries.filter(isPlain))
  await bundleInto(
    'esm',
    'js',
    entries.filter((path) => !isPlain(path))
  )
}

/** Outside of strings and patterns such characters stand in comments alone. */
function toAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
