// Shows on a terminal that something takes time.

const frames = ['|', '/', '-', '\\']
const frameMs = 120

export interface Progress {
  /** Shows something else from now on. */
  change(what: string): void
  end(): void
}

/** Writes to standard error, and nothing if that is no terminal. */
export function showProgress(begun: string): Progress {
  let what = begun
  const { stderr } = process
  if (!stderr.isTTY) return { change: () => {}, end: () => {} }
  let frame = 0
  const startedAt = performance.now()
  const draw = () => {
    const seconds = Math.floor((performance.now() - startedAt) / 1000)
    stderr.write(`\r\u001B[2K${frames[frame % frames.length]} ${what} ${seconds > 0 ? `(${seconds} s) ` : ''}`)
    frame += 1
  }
  draw()
  const timer = setInterval(draw, frameMs).unref()
  return {
    change: (next) => (what = next),
    end() {
      clearInterval(timer)
      stderr.write('\r\u001B[2K')
    }
  }
}
