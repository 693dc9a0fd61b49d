// Paths below a folder, as the hosts of one tree exchange them.
import { sep } from 'node:path'
import t from 'tap'
import { below, relocation } from '../../src/support/relocate.ts'

t.test('what follows the folder in a path is the name as it is', (t) => {
  t.equal(below('/srv/tree', '/srv/tree'), '')
  t.equal(below('/srv/tree', '/srv/tree/a/b'), 'a/b')
  t.equal(below('/srv/tree', '/srv/tree//a'), 'a', 'a caller may double a separator')
  t.equal(below('/', '/a'), 'a')
  t.equal(below('/srv/tree', '/srv/trees'), undefined)
  t.end()
})

t.test('a name may begin with a backslash', { skip: sep !== '/' && 'a separator here' }, (t) => {
  t.equal(below('/srv/tree', '/srv/tree/\\a'), '\\a')
  t.equal(relocation('/srv/tree', '/mnt')('/srv/tree/\\a'), '/mnt/\\a')
  t.end()
})
