// What a unified diff may look like, beside what patch(1) and git apply make of the same.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { applyUnified, describeUnifiedFailure } from '../../../src/engine/diff/unified-patch.ts'

type Outcome = string | undefined
interface Case {
  readonly text?: string
  readonly diff: string
  /** What it gives; or the words of the refusal. */
  readonly result: string | RegExp
  /** Who takes it with the same result; the others refuse it, or make something else. */
  readonly by: 'patch and git' | 'patch' | 'git' | 'us alone' | 'nobody'
  /** Why we do not take what a program takes. */
  readonly why?: string
}

const base = 'a\nb\nc\n\nd\n\te\nf\n'
const changed = 'a\nB\nc\n\nd\n\te\nf\n'
const names = '--- a/f\n+++ b/f\n'
const hunk = '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n'
const windows = (text: string) => text.replaceAll('\n', '\r\n')
const guess = 'it is a guess: the lines are others than the author has seen'

const cases: Record<string, Case> = {
  'as git writes it': {
    diff: `diff --git a/f b/f\nindex 123..456 100644\n${names}${hunk}`,
    result: changed,
    by: 'patch and git'
  },
  'with a change of mode': {
    diff: `diff --git a/f b/f\nold mode 100644\nnew mode 100755\n${names}${hunk}`,
    result: changed,
    by: 'patch and git'
  },
  'with times': {
    diff: `--- f\t2024-01-01 00:00:00.000000000 +0000\n+++ f\t2024-01-01 00:00:00.000000000 +0000\n${hunk}`,
    result: changed,
    by: 'patch and git'
  },
  'as svn writes it': {
    diff: `Index: f\n${'='.repeat(67)}\n--- f\t(revision 1)\n+++ f\t(working copy)\n${hunk}\nProperty changes on: f\n${'_'.repeat(67)}\nAdded: svn:executable\n   + *\n`,
    result: changed,
    by: 'patch and git'
  },
  'with a section': {
    diff: `${names}${hunk.replace('@@\n', '@@ function a()\n')}`,
    result: changed,
    by: 'patch and git'
  },
  'with a section right behind': {
    diff: `${names}${hunk.replace('@@\n', '@@function a()\n')}`,
    result: changed,
    by: 'patch and git'
  },
  'without names': { diff: hunk, result: changed, by: 'patch' },
  'with one name only': { diff: `--- a/f\n${hunk}`, result: changed, by: 'patch' },
  'with the other name only': { diff: `+++ b/f\n${hunk}`, result: changed, by: 'patch' },
  'with words before it': { diff: `Here it is:\n\n${names}${hunk}`, result: changed, by: 'patch and git' },
  'in a fence': { diff: `\`\`\`diff\n${names}${hunk}\`\`\`\n`, result: changed, by: 'patch and git' },
  indented: { diff: (names + hunk).replace(/^(?=.)/gm, '   '), result: changed, by: 'patch' },
  'with the signature of format-patch': {
    diff: `${names}${hunk}-- \n2.39.5\n\n`,
    result: changed,
    by: 'patch and git'
  },
  'with a byte order mark': { diff: `\uFEFF${names}${hunk}`, result: changed, by: 'patch' },
  'with a byte order mark before the hunk': { diff: `\uFEFF${hunk}`, result: changed, by: 'us alone' },
  'of a file with a byte order mark': {
    text: `\uFEFF${base}`,
    diff: `${names}${hunk}`,
    result: `\uFEFF${changed}`,
    by: 'patch'
  },
  'of the bytes of such a file': {
    text: `\uFEFF${base}`,
    diff: `${names}${hunk.replace(' a', ' \uFEFFa')}`,
    result: `\uFEFF${changed}`,
    by: 'patch and git'
  },
  'of such a file, as bytes over HTTP': {
    text: `\u00ef\u00bb\u00bf${base}`,
    diff: `${names}${hunk}`,
    result: `\u00ef\u00bb\u00bf${changed}`,
    by: 'patch'
  },
  'without counts': { diff: `${names}@@ -2 +2 @@\n-b\n+B\n`, result: changed, by: 'patch' },
  'without counts, of one line': {
    text: 'b\n',
    diff: `${names}@@ -1 +1 @@\n-b\n+B\n`,
    result: 'B\n',
    by: 'patch and git'
  },
  'with another line number': { diff: `${names}${hunk.replace('-1,3', '-3,3')}`, result: changed, by: 'patch and git' },
  'with line number 0': { diff: `${names}${hunk.replace('-1,3', '-0,3')}`, result: changed, by: 'patch and git' },
  'of a file that is new': {
    text: '',
    diff: '--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n',
    result: 'a\nb\n',
    by: 'patch'
  },
  'of a file that gets empty': {
    text: 'a\nb\n',
    diff: `${names}@@ -1,2 +0,0 @@\n-a\n-b\n`,
    result: '',
    by: 'patch and git'
  },
  'that only inserts': { diff: `${names}@@ -3,0 +4 @@\n+x\n`, result: 'a\nb\nc\nx\n\nd\n\te\nf\n', by: 'patch' },
  'that only inserts after line 1': {
    diff: `${names}@@ -1,0 +1,2 @@\n+x\n+y\n`,
    result: `a\nx\ny\n${base.slice(2)}`,
    by: 'patch'
  },
  'that only inserts at the top': { diff: `${names}@@ -0,0 +1 @@\n+x\n`, result: `x\n${base}`, by: 'patch' },
  'that only inserts at the end': { diff: `${names}@@ -7,0 +8 @@\n+x\n`, result: `${base}x\n`, by: 'patch and git' },
  'that inserts and deletes without context': {
    diff: `${names}@@ -1 +0,0 @@\n-a\n@@ -3,0 +3 @@\n+x\n`,
    result: 'b\nc\nx\n\nd\n\te\nf\n',
    by: 'patch'
  },
  'that inserts beyond the end': {
    diff: `${names}@@ -70,0 +71 @@\n+x\n`,
    result: /hunk 1 of 1 \(@@ -70,0 \+71 @@, line 3\) names no line/,
    by: 'patch and git',
    why: guess
  },
  'with a blank line whose space is gone': {
    diff: `${names}@@ -2,4 +2,4 @@\n-b\n+B\n c\n\n d\n`,
    result: changed,
    by: 'patch and git'
  },
  'with a blank line at the end whose space is gone': {
    diff: `${names}@@ -2,3 +2,3 @@\n-b\n+B\n c\n\n`,
    result: changed,
    by: 'patch and git'
  },
  'with a blank line at the end that is gone': {
    diff: `${names}@@ -2,3 +2,3 @@\n-b\n+B\n c\n`,
    result: changed,
    by: 'patch'
  },
  'with a line at the end that is gone, and was not blank': {
    diff: `${names}@@ -1,4 +1,4 @@\n a\n-b\n+B\n`,
    result: /does not apply/,
    by: 'patch',
    why: guess
  },
  'with a tab whose space is gone': {
    diff: `${names}@@ -5,3 +5,3 @@\n-d\n+D\n\te\n f\n`,
    result: 'a\nb\nc\n\nD\n\te\nf\n',
    by: 'patch'
  },
  'with a blank line between hunks': {
    diff: `${names}@@ -1,2 +1,2 @@\n-a\n+A\n b\n\n@@ -5,2 +5,2 @@\n-d\n+D\n \te\n`,
    result: 'A\nb\nc\n\nD\n\te\nf\n',
    by: 'patch'
  },
  'without a line break at the end': { diff: `${names}${hunk.slice(0, -1)}`, result: changed, by: 'patch' },
  'with carriage returns': { diff: windows(names + hunk), result: changed, by: 'patch' },
  'with carriage returns, of such a file': {
    text: windows(base),
    diff: windows(names + hunk),
    result: windows(changed),
    by: 'git'
  },
  'with carriage returns in the lines only': {
    text: windows(base),
    diff: names + hunk.replace(/^([-+ ].*)$/gm, '$1\r'),
    result: windows(changed),
    by: 'patch and git'
  },
  'without the carriage returns of the file': {
    text: windows(base),
    diff: names + hunk,
    result: windows(changed),
    by: 'us alone'
  },
  'with carriage returns and a blank line whose space is gone': {
    text: windows(base),
    diff: windows(`${names}@@ -2,4 +2,4 @@\n-b\n+B\n c\n\n d\n`),
    result: windows(changed),
    by: 'us alone'
  },
  'of an old last line without a line break': {
    text: 'a\nb',
    diff: `${names}@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n`,
    result: 'a\nB\n',
    by: 'patch and git'
  },
  'of a new last line without a line break': {
    text: 'a\nb\n',
    diff: `${names}@@ -1,2 +1,2 @@\n a\n-b\n+B\n\\ No newline at end of file\n`,
    result: 'a\nB',
    by: 'patch and git'
  },
  'of both without a line break': {
    text: 'a\nb',
    diff: `${names}@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n`,
    result: 'a\nB',
    by: 'patch and git'
  },
  'of a last line of context without a line break': {
    text: 'a\nb',
    diff: `${names}@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n`,
    result: 'A\nb',
    by: 'patch and git'
  },
  'of a missing line break, in another language': {
    text: 'a\nb',
    diff: `${names}@@ -1,2 +1,2 @@\n a\n-b\n\\ Kein Zeilenumbruch am Dateiende.\n+B\n`,
    result: 'a\nB\n',
    by: 'patch and git'
  },
  'of more lines after one without a line break': {
    text: 'a\nb',
    diff: `${names}@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n\\ No newline at end of file\n`,
    result: 'a\nb\nc',
    by: 'patch and git'
  },
  'that does not say that the line break is missing': {
    text: 'a\nb',
    diff: `${names}@@ -1,2 +1,2 @@\n-a\n+A\n b\n`,
    result: 'A\nb',
    by: 'patch'
  },
  'that deletes what looks like a name': {
    text: '-- x\nb\n',
    diff: `${names}@@ -1,2 +1,2 @@\n--- x\n+++ y\n b\n`,
    result: '++ y\nb\n',
    by: 'patch and git'
  },

  'with counts that are too high': {
    diff: `${names}${hunk.replace('-1,3 +1,3', '-1,9 +1,9')}`,
    result: /line 3 counts 9 old and 9 new lines, and the hunk has 3 and 3. .* the header is @@ -1,3 \+1,3 @@/,
    by: 'nobody'
  },
  'with a count that is too low': {
    diff: `${names}${hunk.replace('-1,3 +1,3', '-1,2 +1,2')}`,
    result: /line 7 \(" c"\) is one more than the header in line 3 counts\. .* the header is @@ -1,3 \+1,3 @@/,
    by: 'nobody'
  },
  'with new counts that are too low': {
    diff: `${names}${hunk.replace('+1,3', '+1,2')}`,
    result: /line 7 \(" c"\) is one more/,
    by: 'nobody'
  },
  'with lines behind a blank line that no header counts': {
    diff: `${names}@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n+x\n`,
    result: /line 8 \("\+x"\) is one more than the header in line 3 counts/,
    by: 'patch',
    why: 'a line that was sent would be left out'
  },
  'without numbers': {
    diff: `${names}${hunk.replace('-1,3 +1,3', '...')}`,
    result: /line 3 \("@@ \.\.\. @@"\) is no header of a hunk: write it as @@ -3,7 \+3,8 @@/,
    by: 'nobody'
  },
  'with a header cut short': {
    diff: `${names}${hunk.replace(' @@\n', '\n')}`,
    result: /line 3 .* is no header/,
    by: 'nobody'
  },
  'with a header without spaces': {
    diff: `${names}${hunk.replace('@@ -1,3 +1,3 @@', '@@-1,3 +1,3@@')}`,
    result: /line 3 .* is no header/,
    by: 'nobody'
  },
  'of a merge': {
    diff: `diff --cc f\n${names}@@@ -1,3 -1,3 +1,3 @@@\n  a\n--b\n++B\n  c\n`,
    result: /line 4 .* combined diff/,
    by: 'nobody'
  },
  'in the context form': {
    diff: '*** a/f\n--- b/f\n***************\n*** 1,3 ****\n  a\n! b\n  c\n--- 1,3 ----\n  a\n! B\n  c\n',
    result: /no hunk in the unified form/,
    by: 'patch',
    why: 'the parameter is unified_diff'
  },
  'with a line that has lost its space': {
    diff: `${names}${hunk.replace(' c', 'c')}`,
    result: /line 7 \("c"\) begins with none of space, \+ and -/,
    by: 'nobody'
  },
  'with other context at the start': {
    diff: `${names}@@ -1,4 +1,4 @@\n z\n-b\n+B\n c\n \n`,
    result: /hunk 1 of 1 \(@@ -1,4 \+1,4 @@, line 3\) does not apply.* The nearest is lines 1-3/,
    by: 'patch',
    why: guess
  },
  'with other context at the end': {
    diff: `${names}@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n z\n`,
    result:
      /They are similar to the hunk, but not the same: line 4, column 1 has U\+000A LINE FEED, the hunk has U\+007A "z"/,
    by: 'patch',
    why: guess
  },
  'with hunks that overlap': {
    diff: `${names}@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n \n`,
    result: /overlaps the one before/,
    by: 'patch',
    why: 'two hunks say what the same lines were'
  }
}

const programs: Record<'patch' | 'git', readonly [string, ...string[]]> = {
  patch: ['patch', '--silent', '--force', '--no-backup-if-mismatch', 'f', '-'],
  git: ['git', 'apply', '--whitespace=nowarn', '-']
}

function isThere(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0
}

for (const name of ['patch', 'git'] as const) {
  const [command, ...args] = programs[name]
  const skip = isThere(command) ? false : `${command} is not here: install it, for example by apt install ${command}`
  t.test(`${name} takes what the table says`, { skip }, async (t) => {
    for (const [title, { text = base, diff, result, by, why }] of Object.entries(cases)) {
      const folder = t.testdir({ f: '' })
      const file = join(folder, 'f')
      writeFileSync(file, text)
      // Not below a repository: git would take the names to be relative to its top.
      const env = { ...process.env, LC_ALL: 'C', GIT_DIR: join(folder, 'none') }
      const { status } = spawnSync(command, args, { cwd: folder, input: diff, env })
      const outcome: Outcome = status === 0 ? readOrNothing(file) : undefined
      const isTaken = by.includes(name)
      if (typeof result === 'string') t.equal(outcome === result, isTaken, `${title}: ${JSON.stringify(outcome)}`)
      else
        t.equal(
          outcome !== undefined && outcome !== text,
          isTaken && why !== undefined,
          `${title}: ${JSON.stringify(outcome)}`
        )
    }
  })
}

/** It may have been removed, with all of its lines. */
function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

t.test('what they take without a guess is taken, and of the rest the line is named', async (t) => {
  for (const [title, { text = base, diff, result }] of Object.entries(cases)) {
    const outcome = applyUnified({ text, unifiedDiff: diff, maxBytes: Infinity })
    if (typeof result === 'string') t.strictSame(outcome, { text: result }, title)
    else t.match('failure' in outcome ? describeUnifiedFailure(outcome.failure) : outcome.text, result, title)
  }
})

t.test('every diff of git itself is taken', { skip: isThere('git') ? false : 'git is not here' }, async (t) => {
  const versions = [
    '',
    'a',
    base,
    changed,
    windows(base),
    `\uFEFF${base}`,
    `x\n${base}y\n`,
    '\n\n\n',
    '-- \n-- a\n++ b\n'
  ]
  for (const one of versions)
    for (const other of versions) {
      if (one === other) continue
      const folder = t.testdir({ one: '', other: '' })
      writeFileSync(join(folder, 'one'), one)
      writeFileSync(join(folder, 'other'), other)
      for (const context of ['-U0', '-U3']) {
        const args = ['diff', '--no-index', '--no-color', '--no-ext-diff', context, 'one', 'other']
        const diff = outputOf('git', args, folder)
        t.strictSame(applyUnified({ text: one, unifiedDiff: diff, maxBytes: Infinity }), { text: other }, diff)
      }
    }
})

/** A diff ends with 1 if there is a difference. */
function outputOf(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}
