// What a command line says of the files that it writes.
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Effect } from '../../../src/engine/commands/open-command.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { parseCommand } from '../../../src/operations/commands/command-line.ts'
import { effectOf } from '../../../src/operations/commands/effect-of.ts'
import { makeTree } from '../../fixtures/tree.ts'

function effectsIn(t: Test, root: string): (line: string) => Effect {
  const files = createFileStore({
    roots: [root],
    maxFileBytes: 1e6,
    maxSyncBytes: 1e5,
    hardlinks: 'allow',
    protectedPaths: []
  })
  t.teardown(() => files.close())
  return (line) => effectOf(line, parseCommand(line, root), { files })
}

t.test('the files that command lines name as written', async (t) => {
  const tree = makeTree(t, { 'src/a.txt': 'a\n', 'src/b.txt': 'b\n', 'c.txt': 'c\n' })
  const root = realpathSync(tree.root)
  const cases: readonly [line: string, files: string, places: string, isBounded: boolean][] = [
    ["sed -i 's/a/b/' src/a.txt c.txt", 'c.txt src/a.txt', '', true],
    ["sed -i.bak -e 's/a/b/' c.txt", 'c.txt', '', true],
    ["sed 's/a/b/' c.txt", '', '', true],
    ['sed -n 1,2p c.txt > d.txt', 'd.txt', '', true],
    ['cd src && sed -i s/a/b/ a.txt', 'src/a.txt', '', true],
    ["cat > src/new.txt <<'EOF'\nhello\nEOF", 'src/new.txt', '', true],
    ['echo x >> c.txt', 'c.txt', '', true],
    ['printf x | tee -a c.txt src/a.txt >/dev/null', 'c.txt src/a.txt', '', true],
    ['mv src/a.txt src/d.txt', 'src/a.txt src/d.txt', 'src/a.txt src/d.txt', true],
    ['mv c.txt src', 'c.txt src/c.txt', 'c.txt src/c.txt', true],
    ['cp c.txt src/', 'src/c.txt', '', true],
    ['rm c.txt', 'c.txt', '', true],
    ['rm -rf src', 'src', 'src', true],
    ['rm src/*.txt', '', 'src', true],
    ['chmod +x c.txt', 'c.txt', '', true],
    ['git checkout -- src/a.txt', 'src/a.txt', 'src/a.txt', true],
    ['git status && git diff src', '', '', true],
    ['git reset --hard', '', '', false],
    ['prettier --write src', '', 'src', true],
    ['npx prettier --write src/a.txt', '', 'src/a.txt', true],
    ["find src -name '*.txt' -exec sed -i s/a/b/ {} +", '', 'src', true],
    ['grep -rl a src | xargs sed -i s/a/b/', '', '', true],
    ["python3 -c \"open('src/a.txt','a').write('x')\"", 'src/a.txt', '', true],
    ["python3 -c \"import sys; open(sys.argv[1],'a').write('x')\" c.txt", '', 'c.txt', false],
    ['python3 -c "import os; os.system(\'x\')"', '', '', false],
    ["node -e \"require('fs').writeFileSync('c.txt','x')\"", 'c.txt', '', true],
    ["python3 - <<'EOF'\nimport pathlib\npathlib.Path('c.txt').write_text('x')\nEOF", 'c.txt', '', true],
    ["patch -p1 <<'EOF'\n--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-a\n+b\nEOF", 'src/a.txt', '', true],
    ['python3 gen.py', '', 'gen.py', false],
    ['npm test', '', 'test', false],
    ['bash fix.sh src', '', 'fix.sh src', false],
    ['env MODE=1 timeout 9 sh ./fix.sh', '', 'fix.sh', false],
    ['sh < fix.sh', '', '', false],
    ['. ./fix.sh', '', 'fix.sh', false],
    ["bash -c 'echo x > c.txt'", 'c.txt', '', true],
    ['uniq -c c.txt d.txt', 'd.txt', '', true],
    ['sort c.txt | uniq', '', '', true],
    ['xxd -r c.hex d.bin', 'd.bin', '', true],
    ['tree -o d.txt', '', 'd.txt', false],
    ["sed -n '/a/w d.txt' c.txt", '', '', false],
    ["sed 's/a/b/gw d.txt' c.txt", '', '', false],
    ["sed 's/new file/w/' c.txt", '', '', true],
    ['git diff --output=d.txt', '', '', false],
    ['ls; cat c.txt | grep x; true', '', '', true],
    ['echo x > "$F"', '', '', false],
    ['if then', '', '', false]
  ]
  const effectIn = effectsIn(t, root)
  for (const [line, named, places, isBounded] of cases) {
    const effect = effectIn(line)
    const below = (paths: Iterable<string>) =>
      [...paths]
        .map((path) => path.slice(root.length + 1))
        .sort()
        .filter((path) => path !== '')
        .join(' ')
    t.strictSame([below(effect.files), below(effect.places), effect.isBounded], [named, places, isBounded], line)
  }
  t.equal(effectIn('sleep 5 &').leavesProcess, true)
  t.equal(effectIn('a && b 2>&1').leavesProcess, false)
})

const memory = '/dev/shm'
t.test('a tree in memory, where devices are', { skip: !existsSync(memory) && `needs ${memory}` }, async (t) => {
  const root = mkdtempSync(join(memory, 'async-crud-mcp-test-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const { files, isBounded } = effectsIn(t, root)('printf x > a.txt 2> /dev/null')
  t.strictSame([[...files], isBounded], [[join(root, 'a.txt')], true])
})
