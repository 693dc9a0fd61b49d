// Keeps V8's compiled code of the bundle in a folder beside it, so that the next start need not compile it: that is half of a start.
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs'
import Module from 'node:module'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { Script } from 'node:vm'
import { replaceFile } from '../../support/replace-file.ts'

/** The part of Node's own handlers of file extensions that is used here. Its types leave it out. */
type Extensions = Record<string, (module: LoadedModule, path: string) => void>
interface LoadedModule {
  exports: unknown
  require(id: string): unknown
}

const digestBytes = 4
const scratchBytes = 2_000_000
const { wrapper } = Module as unknown as { wrapper: readonly string[] }

/**
 * Call it before the modules of the bundle are loaded. Compiled code that is missing, damaged or of another version of Node is
 * compiled again. If the folder cannot be written, nothing is kept.
 * @param bundle a folder whose modules never change under their names
 */
export function keepCompiled(bundle: string): void {
  const folder = join(bundle, 'compiled')
  const { enableCompileCache } = Module as { enableCompileCache?: (folder: string) => unknown }
  if (enableCompileCache !== undefined) enableCompileCache(folder)
  // Stack traces in terms of the sources are wanted: Node reads the maps of modules that it loads itself.
  else if (!process.execArgv.includes('--enable-source-maps')) keepCompiledByScripts(bundle, folder)
}

/** For Node 20, which has no cache of its own. */
function keepCompiledByScripts(bundle: string, folder: string): void {
  const fresh = new Map<string, Script>()
  const { _extensions: extensions } = Module as unknown as { _extensions: Extensions }
  const loadByNode = extensions['.js']

  extensions['.cjs'] = (module, path) => {
    if (dirname(path) !== join(bundle, 'chunks')) return loadByNode?.(module, path)
    const keptAt = join(folder, `${basename(path)}.${process.arch}.${process.versions.v8}`)
    // First, since both are read to the same memory.
    const text = readWrapped(path)
    const cachedData = readKept(keptAt)
    const script = new Script(text, { filename: path, ...(cachedData && { cachedData }) })
    if (cachedData === undefined || script.cachedDataRejected === true) fresh.set(keptAt, script)
    const require = Module.createRequire(path)
    script.runInThisContext().call(module.exports, module.exports, require, module, path, dirname(path))
  }

  // By then most of the used functions have been compiled: V8 compiles them at their first call.
  process.once('exit', () => {
    for (const [path, script] of fresh) keep(path, script.createCachedData())
  })
}

/** What `Module.wrap` makes of a text without other characters than ASCII, in one piece: two would be put together by one copy more. */
function readWrapped(path: string): string {
  const [begin = '', end = ''] = wrapper
  const bytes = readToScratch(path, begin.length, end.length)
  bytes.write(begin)
  bytes.write(end, bytes.length - end.length)
  return bytes.toString('latin1')
}

/** Memory for all files of a start: what a C library gets back in pieces of such sizes it may keep for good. */
let scratch: Buffer | undefined

function readToScratch(path: string, before = 0, after = 0): Buffer {
  const fd = openSync(path, 'r')
  try {
    const { size } = fstatSync(fd)
    const length = before + size + after
    if (scratch === undefined || scratch.length < length) {
      scratch = Buffer.allocUnsafeSlow(Math.max(length, scratchBytes))
      setImmediate(() => (scratch = undefined))
    }
    readSync(fd, scratch, before, size, null)
    return scratch.subarray(0, length)
  } finally {
    closeSync(fd)
  }
}

/** V8 checks its version and settings, but not whether a power cut has damaged the file. */
function readKept(path: string): Buffer | undefined {
  try {
    const kept = readToScratch(path)
    const data = kept.subarray(digestBytes)
    return digest(data).equals(kept.subarray(0, digestBytes)) ? data : undefined
  } catch {
    return undefined
  }
}

function keep(path: string, data: Buffer): void {
  try {
    const folder = dirname(path)
    // Not recursive: a build that puts a new bundle in its place must find the name free.
    if (!existsSync(folder)) mkdirSync(folder)
    replaceFile(path, Buffer.concat([digest(data), data]), { mode: 0o644 })
  } catch {
    // Such as an installation of another user: then each start compiles.
  }
}

/** Against damage, not against people. Loaded when needed, and quicker to load than crypto: each hook is a start. */
function digest(data: Buffer): Buffer {
  const bytes = Buffer.alloc(digestBytes)
  bytes.writeUInt32LE(process.getBuiltinModule('node:zlib').crc32(data))
  return bytes
}
