// Paths below a folder, as the hosts of one tree exchange them.
import { join, parse, sep } from 'node:path'
import t from 'tap'
import { below, relocation } from '../../src/support/relocate.ts'

t.test('what follows the folder in a path is the name as it is', (t) => {
  const root = parse(process.cwd()).root
  const tree = join(root, 'srv', 'tree')
  t.equal(below(tree, tree), '')
  t.equal(below(tree, join(tree, 'a', 'b')), join('a', 'b'))
  t.equal(below(tree, `${tree}${sep}${sep}a`), 'a', 'a caller may double a separator')
  t.equal(below(root, join(root, 'a')), 'a')
  t.equal(below(tree, `${tree}s`), undefined)
  t.end()
})

t.test('a name may begin with a backslash', { skip: sep !== '/' && 'a separator here' }, (t) => {
  t.equal(below('/srv/tree', '/srv/tree/\\a'), '\\a')
  t.equal(relocation('/srv/tree', '/mnt')('/srv/tree/\\a'), '/mnt/\\a')
  t.end()
})
