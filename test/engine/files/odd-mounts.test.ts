// File systems that refuse what others grant: WSL's drvfs, FAT, some FUSE and SMB mounts. Imitated below the real program.
import { once } from 'node:events'
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs'
import t from 'tap'
import { someOf } from '../../fixtures/length.ts'
import { healthOf, own, post } from '../../fixtures/processes.ts'
import { onSystem } from '../../fixtures/preload.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksBindfs, mountVolume } from '../../fixtures/volume-that-dies.ts'

/** Each refuses by these codes, on some mount. */
const refusals: Record<string, { readonly codes: readonly string[]; readonly source: (code: string) => string }> = {
  'a change of mode': {
    codes: ['EPERM', 'ENOTSUP', 'EACCES'],
    source: (code) => `
      const { chmodSync } = fs
      fs.fchmodSync = () => fail('${code}', 'fchmod')
      // The folder for temporary files lies on another one.
      const isElsewhere = (path) => path.includes('/async-crud-mcp-' + process.getuid() + '/')
      fs.chmodSync = (path, mode) => (isElsewhere(path) ? chmodSync(path, mode) : fail('${code}', 'chmod'))`
  },
  'a change of owner': {
    codes: ['EPERM', 'EOPNOTSUPP', 'EACCES'],
    source: (code) => `
      const { fstatSync } = fs
      // What the server has made belongs to the one who mounted it.
      fs.fstatSync = (fd, options) => {
        const stat = fstatSync(fd, options)
        if (stat.isFile()) stat.uid = typeof stat.uid === 'bigint' ? stat.uid + 1n : stat.uid + 1
        return stat
      }
      fs.fchownSync = () => fail('${code}', 'fchown')`
  },
  'a change of times': {
    codes: ['EPERM'],
    source: (code) => `
      fs.utimesSync = () => fail('${code}', 'utime')
      fs.futimesSync = () => fail('${code}', 'futime')`
  },
  'a sync of a folder': {
    codes: ['EINVAL', 'ENOTSUP', 'EACCES'],
    source: (code) => `
      const { fsync, fsyncSync, fstatSync } = fs
      fs.fsync = (fd, done) => {
        if (!fstatSync(fd).isDirectory()) return fsync(fd, done)
        try { fail('${code}', 'fsync') } catch (error) { process.nextTick(done, error) }
      }
      fs.fsyncSync = (fd) => (fstatSync(fd).isDirectory() ? fail('${code}', 'fsync') : fsyncSync(fd))`
  },
  'a second name': {
    codes: ['EPERM', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EISDIR'],
    source: (code) => `fs.linkSync = () => fail('${code}', 'link')`
  }
}

for (const [what, { codes, source }] of Object.entries(refusals))
  for (const code of someOf(codes, 1))
    t.test(`where the file system refuses ${what} (${code}), files are changed all the same`, async (t) => {
      const tree = makeTree(t, { f: 'one\n', g: 'one\n', h: 'one\n' })
      chmodSync(tree.path('f'), 0o755)
      // As a mount without modes shows it.
      mkdirSync(tree.path(own))
      chmodSync(tree.path(own), 0o777)
      const { url, stderr } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(source(code)))
      const ok = { status: 'ok' }
      const expected_hash = hashOf('one\n')
      t.match(await post(url, 'async_write', { path: 'new/file', content: 'new\n', create_dirs: true }), ok)
      t.match(await post(url, 'async_update', { path: 'f', expected_hash, content: 'two\n' }), ok)
      t.match(await post(url, 'async_append', { path: 'f', content: 'three\n' }), ok)
      t.match(await post(url, 'async_rename', { old_path: 'g', new_path: 'new/g' }), ok)
      t.match(await post(url, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }), { all_acquired: true })
      t.match(await post(url, 'lock_release', { filepaths: ['f'], agent_id: 'ann' }), ok)
      const changes = [
        { operation: 'append', path: 'f', content: 'four\n' },
        { operation: 'rename', path: 'new/g', new_path: 'g' },
        { operation: 'write', path: 'new/made', content: 'made\n' },
        { operation: 'delete', path: 'h' }
      ]
      t.match(await post(url, 'async_transaction', { changes, agent_id: 'bob' }), ok)
      t.equal(tree.read('f'), 'two\nthree\nfour\n')
      t.match(await post(url, 'async_undo', { by_agent: 'bob' }), ok)
      t.match(await post(url, 'async_delete', { path: 'new/file' }), ok)
      t.strictSame(tree.all(), ['f', 'h', 'new', 'new/g'])
      t.strictSame([tree.read('f'), tree.read('h'), tree.read('new/g')], ['two\nthree\n', 'one\n', 'one\n'])
      t.notMatch(stderr.join('\n'), code)
      if (!what.includes('mode')) t.equal(statSync(tree.path('f')).mode & 0o777, 0o755)
    })

for (const code of ['Unknown system error -116', 'ENOENT'])
  t.test(`a file that was replaced through another host since it was opened is opened anew (${code})`, async (t) => {
    const tree = makeTree(t, { f: 'one\n' })
    // As GlusterFS does, for which Node has no name for ESTALE. Each handle but the third is stale.
    const source = `
      const { constants } = await import('node:os')
      const { fstatSync } = fs
      let count = 0
      fs.fstatSync = (fd, options) => {
        const stat = fstatSync(fd, options)
        if (!stat.isFile() || Number(stat.size) !== 4 || (count += 1) > 2) return stat
        throw Object.assign(new Error('imitated'), { code: '${code}', syscall: 'fstat', errno: -constants.errno.${code === 'ENOENT' ? code : 'ESTALE'} })
      }`
    const { url } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(source))
    t.match(await post(url, 'async_read', { path: 'f' }), { status: 'ok', content: 'one\n' })
  })

t.test('a name that leads to a file that has just been replaced through another host is opened anew', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  // The kernel looks for the name once more by itself. Two of three openings fail all the same.
  const source = `
      const { constants } = await import('node:os')
      const { openSync } = fs
      let count = 0
      fs.openSync = (path, ...rest) => {
        if (String(path).endsWith('/f') && (count += 1) % 3 !== 0)
          throw Object.assign(new Error('imitated'), { code: 'Unknown system error -116', syscall: 'open', errno: -constants.errno.ESTALE })
        return openSync(path, ...rest)
      }`
  const { url } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(source))
  t.match(await post(url, 'async_read', { path: 'f' }), { status: 'ok', content: 'one\n' })
  t.match(await post(url, 'async_update', { path: 'f', expected_hash: hashOf('one\n'), content: 'two\n' }), {
    status: 'ok'
  })
  t.equal(tree.read('f'), 'two\n')
})

t.test('a file that is stale at the look right before its change is opened anew', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  // Every second handle is stale, so that of each look which follows a read. Times that pass make the look read the bytes.
  const source = `
      const { constants } = await import('node:os')
      const { fstatSync, openSync } = fs
      let handles = 0
      let times = 0n
      let stale
      fs.openSync = (path, ...rest) => {
        const fd = openSync(path, ...rest)
        if (String(path).endsWith('/f') && (handles += 1) % 2 === 0) stale = fd
        else if (fd === stale) stale = undefined
        return fd
      }
      fs.fstatSync = (fd, options) => {
        if (fd === stale)
          throw Object.assign(new Error('imitated'), { code: 'Unknown system error -116', syscall: 'fstat', errno: -constants.errno.ESTALE })
        const stat = fstatSync(fd, options)
        if (stat.isFile() && typeof stat.ctimeNs === 'bigint') stat.ctimeNs += times += 1n
        return stat
      }`
  const { url } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(source))
  const update = { path: 'f', expected_hash: hashOf('one\n'), content: 'two\n' }
  t.match(await post(url, 'async_update', update), { status: 'ok' })
  t.equal(tree.read('f'), 'two\n')
})

t.test('a mode is changed only if it is another one', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  chmodSync(tree.path('f'), 0o600)
  const counted = `
    const { fchmodSync } = fs
    fs.fchmodSync = (fd, mode) => (fs.fstatSync(fd).mode & 0o7777) === mode ? fail('EIO', 'fchmod') : fchmodSync(fd, mode)`
  const { url } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(counted))
  t.match(await post(url, 'async_append', { path: 'f', content: 'two\n' }), { status: 'ok' })
  chmodSync(tree.path('f'), 0o640)
  t.match(await post(url, 'async_append', { path: 'f', content: 'three\n' }), { status: 'ok' })
  t.equal(statSync(tree.path('f')).mode & 0o777, 0o640)
})

/** As Node 22.12 to 22.16 does on Windows 11: a look by name gives another device than one by descriptor. */
const twoDevices = `
  const { lstatSync, lstat } = fs
  const other = (stat) => {
    if (stat !== undefined) stat.dev = typeof stat.dev === 'bigint' ? stat.dev + 7n : stat.dev + 7
    return stat
  }
  fs.lstatSync = (path, options) => other(lstatSync(path, options))
  const promised = fs.promises.lstat
  fs.promises.lstat = async (path, options) => other(await promised(path, options))`

t.test('where a look by name and one by descriptor disagree about the device, a tree is served', async (t) => {
  const tree = makeTree(t, { f: 'one\n', g: 'one\n' })
  const system = onSystem(twoDevices)
  const first = await startOneProgram(t, ['--dir', tree.root], {}, system)
  const { url } = await startOneProgram(t, ['--dir', tree.root], {}, system)
  t.match(await healthOf(url), { status: 'healthy', degraded: { length: 0 } })
  const ok = { status: 'ok' }
  const { hash } = await post(url, 'async_read', { path: 'f' })
  t.match(await post(url, 'async_update', { path: 'f', expected_hash: hash, content: 'two\n' }), ok)
  t.match(await post(first.url, 'async_append', { path: 'f', content: 'three\n' }), ok)
  t.match(await post(url, 'async_rename', { old_path: 'g', new_path: 'h' }), ok)
  const changes = [
    { operation: 'append', path: 'f', content: 'four\n' },
    { operation: 'rename', path: 'h', new_path: 'g' }
  ]
  t.match(await post(url, 'async_transaction', { changes }), ok)
  t.equal(tree.read('f'), 'two\nthree\nfour\n')
  t.match(await first.stop(), { code: 0 })
  t.match(await post(url, 'async_append', { path: 'g', content: 'two\n' }), ok)
  t.match(await healthOf(url), { status: 'healthy', role: 'authority' })
})

t.test('a start whose lock never is the file at its name says so, and ends', async (t) => {
  const tree = makeTree(t)
  const replaced = `
    const { lstatSync } = fs
    fs.lstatSync = (path, options) => {
      const stat = lstatSync(path, options)
      if (stat !== undefined && String(path).endsWith('authority.lock')) stat.ino += 1n
      return stat
    }`
  const { process: server, stderr } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(replaced))
  const [code] = (await once(server, 'exit')) as [number]
  t.equal(code, 1)
  t.match(stderr.join('\n'), /authority\.lock was locked 100 times.*stop the program/)
})

const hidden = /^\.fuse_hidden[\da-f]{16,}$/

t.test('what FUSE keeps of a replaced file that is open is no file of the tree', { skip: lacksBindfs }, async (t) => {
  const { tree } = await mountVolume(t, makeTree(t, { 'a/f': 'one\n', g: 'one\n' }))
  const open = openSync(tree.path('a/f'), 'r')
  t.teardown(() => closeSync(open))
  const { url } = await startOneProgram(t, ['--dir', tree.root])
  const ok = { status: 'ok' }
  const update = { path: 'a/f', expected_hash: hashOf('one\n'), content: 'two\n' }
  t.match(await post(url, 'async_update', update), ok)
  const [name] = readdirSync(tree.path('a')).filter((each) => hidden.test(each))
  t.equal(tree.read(`a/${name}`), 'one\n', 'it is there')

  t.match(await post(url, 'async_list', { path: '.', recursive: true }), {
    entries: [{ name: 'a' }, { name: 'a/f' }, { name: 'g' }]
  })
  const denied = { status: 'error', error_code: 'ACCESS_DENIED', message: /belongs to the file system/ }
  t.match(await post(url, 'async_read', { path: `a/${name}` }), denied)
  t.match(await post(url, 'async_write', { path: 'a/.nfs000000000abcdef000000012', content: '' }), denied)

  t.match(await post(url, 'async_read', { path: 'g' }), ok)
  tree.write('g', 'two\n')
  const logged = async () => (await post(url, 'async_history', {}))['versions'] as { readonly path: string }[]
  await until(async () => (await logged()).some(({ path }) => path.endsWith('g')))
  t.notMatch((await logged()).map(({ path }) => path).join('\n'), /hidden/)
})
