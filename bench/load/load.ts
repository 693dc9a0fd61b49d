// Closed-loop load: every sender sends its next request as soon as the last one is answered.

/** Sends one request and resolves when it is answered as it should be. */
export type Send = () => Promise<unknown>

export interface Load {
  readonly perSecond: number
  readonly latenciesMs: number[]
}

/** Those under way at the end are waited for and counted. */
export async function runLoad(senders: readonly Send[], ms: number): Promise<Load> {
  const latenciesMs: number[] = []
  const start = performance.now()
  const end = start + ms
  await Promise.all(
    senders.map(async (send) => {
      for (let sent = performance.now(); sent < end;) {
        await send()
        const answered = performance.now()
        latenciesMs.push(answered - sent)
        sent = answered
      }
    })
  )
  return { perSecond: (latenciesMs.length * 1000) / (performance.now() - start), latenciesMs }
}

/** Until the compiler has seen enough calls, or for as long as one has patience: a server that has just started is several times slower. */
export async function warmUp(senders: readonly Send[]): Promise<void> {
  const end = performance.now() + 3000
  for (let calls = 0; calls < 2000 && performance.now() < end;) {
    calls += (await runLoad(senders, 250)).latenciesMs.length
  }
}
