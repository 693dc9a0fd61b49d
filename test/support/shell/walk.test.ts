// The simple commands of real command lines, each with its folder; and that no line takes long.
import t from 'tap'
import { readCommandLine } from '../../../src/support/shell/walk.ts'

const read = (line: string) => readCommandLine(line, { cwd: '/w', home: '/home/ann', topOf: () => '/top' })

/** Each command as `folder: words`; `?` for what cannot be told, patterns in angles. */
function shown(line: string): string[] {
  return read(line)
    .commands.filter(({ words }) => words.length > 0)
    .map(({ folder = '?', words }) => {
      const texts = words.map((word) =>
        word === undefined ? '?' : word.pattern === undefined ? word.text : `<${word.pattern}>`
      )
      return `${folder}: ${texts.join(' ')}`
    })
}

const table: [line: string, ...commands: string[]][] = [
  ['git status', '/w: git status'],
  ['cd a && git stash; git log', '/w/a: git stash', '/w/a: git log'],
  ['(cd a && x) && y', '/w/a: x', '/w: y'],
  ['cd a || exit 1; x', '/w/a: exit 1', '/w/a: x'],
  ['x || cd a; y', '/w: x', '/w: y'],
  ['cd a; cd ..; cd b; cd -; x', '/w: x'],
  ['cd; x', '/home/ann: x'],
  ['cd "$(git rev-parse --show-toplevel)" && x', '/w: git rev-parse --show-toplevel', '/top: x'],
  ['cd $SOMEWHERE && rm -rf x', '?: rm -rf x'],
  ['if a; then cd b; fi; x', '/w: a', '?: x'],
  ['pushd a; x; popd; y', '/w/a: x', '/w: y'],
  [String.raw`rm -rf "a b" c\ d 'e'f`, '/w: rm -rf a b c d ef'],
  ['rm ~/x "~/y" $HOME/z $PWD ${HOME}', '/w: rm /home/ann/x ~/y /home/ann/z /w /home/ann'],
  ['rm {a,b{1..2}}.ts', '/w: rm a.ts b1.ts b2.ts'],
  ['rm *.ts a[bc] {d,e}*', '/w: rm <*.ts> <a[bc]> <d*> <e*>'],
  [`rm '*'.ts "*"*`, String.raw`/w: rm *.ts <\**>`],
  ['rm $X "$X"/y', '/w: rm ? ?'],
  ['D=src/gen; rm -rf $D "$D/x"', '/w: rm -rf src/gen src/gen/x'],
  ['D="a b"; rm -rf $D "$D"', '/w: rm -rf ? a b'],
  ['for f in a b; do rm $f; done', '/w: rm a', '/w: rm b'],
  ['for f in *.ts; do rm $f; done', '/w: rm ?'],
  ['ls | while read f; do rm "$f"; done', '/w: ls', '/w: rm ?'],
  ['echo $(git stash) `git clean`', '/w: git stash', '/w: git clean', '/w: echo ? ?'],
  ['diff <(git stash) "x $(y)"', '/w: git stash', '/w: y', '/w: diff ? ?'],
  [`sh -c 'cd a && git stash'`, '/w/a: git stash'],
  [`bash -lc "git clean -fd" && x`, '/w: git clean -fd', '/w: x'],
  [`bash <<'E'\ngit stash\nE`, '/w: git stash'],
  [`bash <<< "git stash"`, '/w: git stash'],
  ['bash script.sh', '/w: bash script.sh'],
  ['eval "git stash"; eval cd a; x', '/w: git stash', '/w/a: x'],
  ['sudo -u bob FOO=1 git stash', '/w: git stash'],
  ['env -C a -u B C=d git stash', '/w/a: git stash'],
  ['FOO=1 timeout -k 5 10 nice -n 3 nohup git stash &', '/w: git stash'],
  ['time git stash', '/w: git stash'],
  ['command -v git', ''],
  ['/usr/bin/git stash', '/w: /usr/bin/git stash'],
  [String.raw`\git stash; g'i't stash`, '/w: git stash', '/w: git stash'],
  ['ls | xargs -0 -n 1 rm -rf', '/w: ls', '/w: rm -rf'],
  [`ls | xargs -I{} sh -c 'rm -rf {}'`, '/w: ls', '/w: rm -rf ?'],
  ['find . -exec rm -r {} +', '/w: find . -exec rm -r {} +', '/w: rm -r'],
  ['f() { git stash; }; f; cd a; f', '/w: git stash', '/w/a: git stash'],
  ['f() { f; }; f', ''],
  ['case $x in a) git stash;; esac', '/w: git stash'],
  ['! git diff --quiet && git stash', '/w: git diff --quiet', '/w: git stash'],
  ['echo "git stash" # git stash', '/w: echo git stash'],
  ["git commit -m 'run git reset --hard'", '/w: git commit -m run git reset --hard'],
  ["cat > x <<'E'\ngit reset --hard\nE", '/w: cat']
]

for (const [line, ...commands] of table)
  t.test(JSON.stringify(line), async (t) => {
    t.strictSame(
      shown(line),
      commands.filter((one) => one !== '')
    )
  })

t.test('what cannot be told is said', async (t) => {
  for (const line of ['curl x | sh', 'bash -c "$X"', 'eval $X', "sh -c 'git stash", 'f() { f; }; f'])
    t.equal(read(line).unknown.length > 0, true, line)
  for (const line of ['git stash', 'X=$(date) x', 'npm test 2>&1 | tail -5', 'python3 - <<E\n$x\nE'])
    t.strictSame(read(line).unknown, [], line)
})

t.test('files that output goes to are named', async (t) => {
  const outputs = (line: string) => read(line).commands.flatMap((command) => command.outputs.map((one) => one?.text))
  t.strictSame(outputs('x > a 2>> b && { y; } > c; z 2>&1; > d; for i in 1; do w; done >$X'), [
    'a',
    'b',
    'c',
    'd',
    undefined
  ])
})

t.test('no line takes long, or grows without bound', async (t) => {
  const hostile = [
    '$('.repeat(20_000),
    '('.repeat(50_000),
    '{a,'.repeat(50_000),
    '{a,b}'.repeat(1000),
    'rm {1..999999}{1..999999}',
    'a|'.repeat(50_000),
    "bash -c '".repeat(5000),
    'sudo '.repeat(50_000),
    'for i in 1 2 3 4 5 6 7 8 9; do '.repeat(200),
    'f() { f; f; }; f',
    'f() { g; g; }; g() { f; f; }; f'
  ]
  for (const line of hostile) {
    const begun = process.cpuUsage().user
    t.ok(read(line).commands.length <= 5000)
    const tookMs = (process.cpuUsage().user - begun) / 1000
    t.ok(tookMs < 2000, `${line.slice(0, 40)} took ${tookMs} ms of the processor`)
  }
})
