// What the results of test files say of a claim and of its control.

/** @returns `held` or `FAILED`; `not run: ` and the reason if all of its tests were skipped */
export function judgeCheck({ control }, { tests, problems }) {
  const [own, others] = divide(control, tests)
  const verdict = judge(own, 'held', 'FAILED')
  // The file itself has failed, or a test of the control is the one that did.
  const isUnexplained = problems !== '' && others.every(isWell)
  return isUnexplained ? 'FAILED' : verdict
}

/** For a control that is a test: it passes if the check fails in it. @returns `failed` or `PASSED`, or `not run: ` and the reason */
export function judgeControl({ control }, { tests, problems }) {
  const [, controls] = control.in === undefined ? divide(control, tests) : [[], tests.filter(isOf(control))]
  if (control.in !== undefined && problems !== '') return 'PASSED'
  return judge(controls, 'failed', 'PASSED')
}

/** True if nothing speaks against it: what was not run shows nothing, either way. */
export function isShown({ check, control }) {
  return (check === 'held' || isSkipped(check)) && (control === 'failed' || isSkipped(control))
}

export const isSkipped = (verdict) => verdict.startsWith('not run')

const isOf =
  ({ tests }) =>
  ({ title }) =>
    tests.test(title)
const isWell = ({ verdict }) => verdict === 'ok'
const reasonOf = ({ title }) => /# SKIP (.*)/.exec(title)?.[1]

/** @returns the tests of the check, and those of its control */
function divide(control, tests) {
  if (control.tests === undefined || control.in !== undefined) return [tests, []]
  return [tests.filter((test) => !isOf(control)(test)), tests.filter(isOf(control))]
}

function judge(tests, good, bad) {
  const wereRun = tests.filter((test) => reasonOf(test) === undefined)
  if (tests.length === 0 || !wereRun.every(isWell)) return bad
  return wereRun.length > 0 ? good : `not run: ${reasonOf(tests[0])}`
}
