// Paths below a folder, as the hosts of one tree exchange them.
import { join, parse, sep } from 'node:path'
import t from 'tap'
import { below, relocation, relocationInProse } from '../../src/support/relocate.ts'

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

t.test('in a sentence, each path of the folder and none of another', (t) => {
  const move = relocationInProse('/srv/tree (1)', '/mnt/$&')
  for (const [text, expected] of [
    ['Not below /srv/tree (1).', 'Not below /mnt/$&.'],
    ['"/srv/tree (1)/a.txt", file:///srv/tree (1)/b.txt', '"/mnt/$&/a.txt", file:///mnt/$&/b.txt'],
    [
      'Roots: /srv/tree (1), /srv/tree (1)s, /srv/tree (1)-2, /srv/tree (1).old',
      'Roots: /mnt/$&, /srv/tree (1)s, /srv/tree (1)-2, /srv/tree (1).old'
    ],
    ['/data/srv/tree (1)/a.txt', '/data/srv/tree (1)/a.txt']
  ] as const)
    t.equal(move(text), expected)
  t.end()
})
