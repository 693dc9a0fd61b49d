// One start at a time prepares the project; the others wait, and find everything done. Nothing breaks where two do it at
// once: each works in a folder of its own. So a guess suffices whether the one whose turn it is still runs.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const pollMs = 100
/** A process id may belong to another process by now, or to another container: a turn does not last longer than this. */
const longestMs = 15 * 60_000

/**
 * Waits for the turn of this process, and removes what earlier ones have left in the folder.
 * @returns how to end the turn; the end of the process ends it, too
 */
export function takeTurn(folder, onWait) {
  const file = join(folder, 'turn')
  let isTold = false
  while (!isTaken(file)) {
    if (isOver(file)) rmSync(file, { force: true })
    else {
      if (!isTold) onWait()
      isTold = true
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs)
    }
  }
  const tidy = () => {
    for (const name of readdirSync(folder)) if (name !== 'turn') removeIfPossible(join(folder, name))
  }
  const end = () => {
    process.off('exit', end)
    tidy()
    rmSync(file, { force: true })
  }
  process.on('exit', end)
  tidy()
  return end
}

/** An installer that has outlived the process that started it may still write there. */
function removeIfPossible(path) {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // The next start tries again.
  }
}

function isTaken(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  }
}

function isOver(file) {
  try {
    if (Date.now() - statSync(file).mtimeMs > longestMs) return true
    const pid = Number(readFileSync(file, 'utf8'))
    // Nothing in it: another process is just about to write its id.
    if (pid !== 0) process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH' || error.code === 'ENOENT'
  }
}
