// Makes the program as it is shipped: all its modules and those of its packages in a few files, which Node finds and compiles at once.
// usage: node scripts/bundle.mjs <folder>
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { projectRoot } from './prepare.mjs'

const [folder] = process.argv.slice(2)
const bundle = await rolldown({
  input: { main: join(projectRoot, 'src/main.ts'), worker: join(projectRoot, 'src/diff/worker.ts') },
  platform: 'node',
  // They find files of their own beside them: machine code, the start of a thread, pages.
  external: ['fs-native-extensions', 'piscina', /^@fastify\/swagger-ui/],
  // Its main file hides what it requires from a bundler.
  resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
  checks: { ineffectiveDynamicImport: false }
})
await bundle.write({
  dir: folder,
  // Older versions of Node keep what they compiled of such modules alone: src/compile-cache.ts.
  format: 'cjs',
  dynamicImportInCjs: false,
  entryFileNames: '[name].cjs',
  // The hash names the content: what was compiled of it is never taken for that of another.
  chunkFileNames: 'chunks/[name]-[hash].cjs',
  sourcemap: true
})
