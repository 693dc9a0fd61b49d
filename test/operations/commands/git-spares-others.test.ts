// Real command lines against a real repository with uncommitted lines of several agents: refused exactly if they would take lines of
// others, which a copy of the tree proves in which each of them really runs.
import t from 'tap'
import { startWithLines } from '../../fixtures/git-lines.ts'
import { someOf } from '../../fixtures/length.ts'

/** What takes lines of others and is refused. */
const harmful = [
  'git reset --hard',
  'git reset --hard HEAD',
  'git reset --hard other',
  'git reset --har',
  'git reset -q --hard main',
  'git fetch 2>/dev/null; git reset --hard @',
  'git reset --merge',
  'git checkout .',
  'git checkout -- .',
  'git checkout -- src/ann.ts',
  'git checkout src/ann.ts',
  'git checkout src/shared.ts',
  'git checkout -- src',
  "git checkout -- 'src/*.ts'",
  'git checkout -- src/*.ts',
  'git checkout -- src/{mine,ann}.ts',
  'git checkout HEAD -- src/ann.ts',
  'git checkout HEAD src/staged-ann.ts',
  'git checkout main -- src/deep',
  'git checkout other -- src/ann.ts',
  'git checkout HEAD -- lib/outside.ts',
  'git checkout -f',
  'git checkout -f main',
  'git checkout --force other',
  'git checkout -fb topic',
  'git checkout -B topic -f',
  'git switch -f other',
  'git switch --discard-changes other',
  'git switch -fC topic HEAD',
  'git switch -f --orphan topic',
  'git switch -f --detach HEAD',
  'git checkout -f --orphan topic',
  'git switch -f -',
  'git restore .',
  'git restore src/ann.ts',
  'git restore src/shared.ts',
  'git restore -W -- src/deep/ann.ts',
  'git restore --source=HEAD src/staged-ann.ts',
  'git restore -s HEAD --staged --worktree .',
  'git restore -SW src/staged-ann.ts',
  'git restore --source other -- src/ann.ts',
  "git restore ':!src/mine.ts'",
  'git restore -- :/lib',
  'git clean -fd',
  'git clean -f',
  'git clean -df .',
  'git clean -f new-ann.txt',
  'git clean -fd notes',
  'git clean -fdx',
  'git clean -fX',
  'git clean -ffdx',
  'git clean -f -e new-ann.txt',
  'git -c clean.requireForce=false clean',
  'git clean --force -d -- notes mixed',
  'git stash',
  'git stash push',
  'git stash -u',
  'git stash --include-untracked -- notes',
  'git stash -a',
  'git stash save wip',
  'git stash push -m wip -- src/ann.ts',
  'git stash push -k',
  'git stash --keep-index -q',
  'git stash push --staged',
  'git stash push --staged -- src/staged-mine.ts',
  'git stash && git pull; git stash pop --index 99',
  'git rm -f src/ann.ts',
  'git rm -rf src',
  "git rm -qf 'src/*.ts'",
  'git rm --force src/staged-ann.ts',
  'rm -rf src',
  'rm -r notes',
  'rm -fr ./notes/deep',
  'rm -R mixed',
  'rm --recursive --force notes',
  'rm -rf src notes',
  'rm -rf s*',
  'rm -rf *',
  'rm -rf -- notes/',
  'rm -rf ../$(basename "$PWD")/notes || rm -rf notes',
  'find . -name "*.txt" -delete',
  'find notes -type f -delete',
  "find . -name '*.tmp' -not -name 'own*' -delete",
  'find . -maxdepth 1 -type f -name "new-*" -delete',
  'find notes -type f -exec rm {} +',
  'find notes -type f -exec rm -f {} \\;',
  'find . -path ./node_modules -prune -o -name "*.tmp" -print0 | xargs -0 rm -f',
  'find notes -name "*.md" | xargs rm',
  'cd src && git checkout .',
  'cd src && git checkout -- ann.ts',
  'cd lib; git restore .',
  'cd src/deep && git -C ../.. checkout -- src/ann.ts',
  '(cd src && git checkout -- ann.ts)',
  'git -C src checkout .',
  'git -C lib checkout -- outside.ts',
  'git --git-dir=.git --work-tree=. checkout -- src/ann.ts',
  'GIT_DIR=.git git checkout -- src/ann.ts',
  'git --no-pager -c color.ui=false reset --hard',
  'git undo src/ann.ts',
  'git nuke',
  'git -c alias.x="reset --hard" x',
  "sh -c 'git reset --hard'",
  'bash -lc "cd src && git checkout ."',
  "bash <<'E'\ngit checkout -- .\nE",
  'eval "git checkout -- ."',
  'env FOO=1 git reset --hard',
  'timeout 10 git stash',
  'nohup git checkout -- . >/dev/null 2>&1',
  'command git checkout -- .',
  '\\git reset --hard',
  'g"i"t checkout -- src/ann.ts',
  'true && git reset --hard || true',
  'if true; then git reset --hard; fi',
  'for f in src/mine.ts src/ann.ts; do git checkout -- $f; done',
  'for d in notes mixed; do rm -rf "$d"; done',
  'D=notes; rm -rf "$D"',
  'f() { git checkout -- "."; }; f',
  'echo start; git reset --hard; echo done',
  'git status --short && git diff && git checkout -- src/ann.ts && npm --version',
  'git add -A; git reset --hard',
  'echo $(git checkout -- src/ann.ts)',
  'git checkout -- src/ann.ts | cat',
  'git checkout -- src/mine.ts src/ann.ts',
  'git restore src/mine.ts lib/outside.ts',
  'cd "$(git rev-parse --show-toplevel)" && git checkout -- src/ann.ts',
  'xargs rm -rf < /dev/null; rm -rf notes'
]

/** What takes no line of others. */
const harmless = [
  'git status',
  'git st',
  'git diff HEAD',
  'git log --oneline -5',
  'git log --grep "git reset --hard"',
  'git commit --allow-empty -m "undo the git reset --hard"',
  'echo "git checkout -- ."',
  "echo 'rm -rf src' > /dev/null",
  '# git reset --hard',
  "cat <<'E' > /dev/null\ngit reset --hard\nrm -rf src\nE",
  'grep -rn "git stash" src',
  'git reset',
  'git reset --soft HEAD',
  'git reset HEAD src/ann.ts',
  'git reset --mixed',
  'git reset --keep HEAD',
  'git reset --hard no-such-commit',
  'git reset --hard HEAD src',
  'git checkout -b topic',
  'git checkout main',
  'git checkout other',
  'git switch -c topic',
  'git switch -fc topic',
  'git switch --discard-changes -C topic',
  'git switch other',
  'git checkout -- src/mine.ts',
  'git checkout src/mine.ts',
  'git checkout HEAD -- src/mine.ts docs',
  'git checkout -- src/clean.ts lib/clean.ts',
  'git checkout other -- src/clean.ts',
  'git checkout other -- only-other.txt',
  'git checkout -- no-such-file src/ann.ts',
  'git checkout -- src/staged-ann.ts',
  'git restore src/mine.ts',
  'git restore docs',
  'git restore --staged .',
  'git restore --staged src/staged-ann.ts',
  'git restore -S -- src',
  'git restore --source=HEAD -- src/staged-mine.ts',
  'git restore src/staged-ann.ts',
  'cd docs && git checkout .',
  'cd docs && git restore .',
  'git clean',
  'git clean -n',
  'git clean -fdn',
  'git clean -f own.tmp new-mine.txt',
  'git clean -fd scratch',
  'git clean -fdX build',
  'git clean -f -- "*.log"',
  'git stash list',
  'git stash show',
  'git stash push -- src/mine.ts docs',
  'git stash -- docs',
  'git stash drop stash@{0}',
  'git rm src/ann.ts',
  'git rm -r src',
  'git rm --cached src/ann.ts',
  'git rm -f src/mine.ts',
  'git rm -rf docs',
  'git rm -f src',
  'git rm -rfn src',
  'rm -rf scratch',
  'rm -rf build',
  'rm -rf node_modules build',
  'rm -rf docs',
  'rm -rf no-such-folder',
  'rm -rf lib/clean.ts',
  'rm -rf own* scratch',
  'rm -rf /tmp/no-such-folder-of-anyone',
  'rm new-mine.txt',
  'rm -f *.log',
  'find . -name "*.orig" -delete',
  'find scratch -type f -delete',
  'find . -name "own.tmp" -exec rm {} +',
  'find . -name "*.ts" -print',
  'find . -name "*.ts" | xargs grep -l by',
  'find build -type f -delete',
  'cd scratch && rm -rf .cache',
  "sh -c 'git status'",
  'git ls-files | head',
  'git add src/mine.ts && git commit -m mine',
  'git branch topic && git branch -D topic',
  'git tag x',
  'git merge --no-commit other',
  'git config alias.wipe "reset --hard"',
  'git help reset',
  'git show HEAD:src/ann.ts',
  'git diff --stat | tail -1',
  'git apply --check /dev/null',
  'git checkout --help >/dev/null',
  'git worktree list',
  'mkdir -p tmp && rm -rf tmp',
  'sed -i s/xyz/abc/ src/mine.ts && git checkout -- src/mine.ts',
  'python3 -c "print(\'git reset --hard\')"',
  'type rm; which git',
  'test -d nowhere && rm -rf nowhere'
]

/** What takes lines of others and passes: it cannot be told from the line, or is not judged. They are kept. */
const passing = [
  'rm new-ann.txt',
  'rm -f src/ann.ts',
  'rm -rf new-ann.txt',
  'mv new-ann.txt src/mine.ts; rm src/mine.ts',
  'cp src/clean.ts src/ann.ts',
  'echo > src/ann.ts',
  'for f in $(git diff --name-only); do git checkout -- "$f"; done',
  'git diff --name-only | xargs git checkout --',
  'ls -d notes | xargs rm -rf',
  'X=$(echo notes); rm -rf "$X"',
  'echo "git reset --hard" | sh',
  'git ls-files -m | while read f; do git checkout -- "$f"; done'
]

t.test('a command is refused exactly if it would take lines of others', async (t) => {
  const { judge, copies, git } = await startWithLines(t)
  const status = git('status', '--porcelain')
  const othersIn = (lines: readonly string[]) => lines.filter((line) => !line.endsWith('by me'))

  for (const command of someOf(harmful, 16)) {
    const { refusal } = await judge(command)
    const gone = othersIn(copies.run(command))
    t.not(gone.length, 0, `takes lines of others: ${command}`)
    t.match(refusal, /lines? of (?:ann|someone)/, `is refused: ${command}`)
  }
  for (const command of someOf(harmless, 10)) {
    const { refusal } = await judge(command)
    t.strictSame(othersIn(copies.run(command)), [], `takes no line of others: ${command}`)
    t.equal(refusal, undefined, `passes: ${command}`)
  }
  for (const command of someOf(passing, 3)) {
    const { refusal } = await judge(command)
    t.not(othersIn(copies.run(command)).length, 0, `takes lines of others: ${command}`)
    t.equal(refusal, undefined, `passes: ${command}`)
  }
  t.equal(git('status', '--porcelain'), status, 'nothing was changed by judging')
})

t.test("a refusal says whose lines in which files, and what does the same for one's own", async (t) => {
  const { judge } = await startWithLines(t)
  const { refusal = '' } = await judge('git checkout -- src')
  t.match(refusal, '- src/ann.ts: 1 line of ann')
  t.match(refusal, '- src/shared.ts: 1 line of ann')
  t.match(refusal, 'async_undo with by_agent: "claude-code/me"')
  t.match(refusal, 'git restore -- src/mine.ts')
  t.notMatch(refusal, 'src/clean.ts')
  const unknown = await judge('git checkout -- lib')
  t.match(unknown.refusal, 'lib/outside.ts: 1 line of someone before the server knew the file')
})

t.test('a session is told whose lines its commit takes in, and what could not be checked', async (t) => {
  const { judge } = await startWithLines(t)
  t.match(
    (await judge('git add -A && git commit -m all')).note,
    /takes in uncommitted lines of others:[^]*src\/ann\.ts: 1 line of ann/
  )
  t.match((await judge('git commit -am all')).note, 'src/shared.ts: 1 line of ann')
  const staged = (await judge('git commit -m staged')).note
  t.match(staged, 'src/staged-ann.ts')
  t.notMatch(staged, 'src/shared.ts')
  t.match((await judge('rm -rf "$SOMEWHERE"')).note, 'which paths "rm -r" removes')
  t.equal((await judge('git status')).note.includes('could not tell'), false)
})

t.test('what a passing command removes is kept; a setting can switch refusals off', async (t) => {
  const { judge, own, tree } = await startWithLines(t, { hooks: { git: 'keep' } })
  t.equal((await judge('git clean -f outside.txt')).refusal, undefined)
  const { versions } = await own.call('async_history', { path: 'outside.txt' })
  t.equal(versions.length, 1)
  tree.write('never-seen.txt', '1\n')
  const off = await startWithLines(t, { hooks: { git: 'off' } })
  t.equal((await off.judge('git reset --hard')).refusal, undefined)
  const kept = await off.own.call('async_history', { path: 'outside.txt' })
  t.not(kept.versions?.length, 1)
})
