// Loaded into a process before its program: on SIGWINCH, says how late its event loop has been since the signal before, and goes on measuring.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMs = 1
const delay = monitorEventLoopDelay({ resolution: resolutionMs })

process.on('SIGWINCH', () => {
  // The histogram includes the timer's own interval.
  const p99Ms = Math.max(0, delay.percentile(99) / 1e6 - resolutionMs)
  delay.reset()
  // Only from the first signal on: the timer would slow down what else is measured.
  delay.enable()
  if (process.send === undefined) console.error(`loop delay p99 ms: ${p99Ms}`)
  else process.send(p99Ms)
})
