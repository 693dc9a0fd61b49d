// What agents do with locks: alone, in circles on purpose, carelessly, and without asking for any.
import type { Contender } from './contender.ts'
import type { Reply } from './history.ts'

type Plan = (contender: Contender) => Promise<void>

/** With how often each is played. */
const plans: readonly (readonly [share: number, plan: Plan])[] = [
  [24, changeOne],
  [22, changeSeveral],
  [30, goRound],
  [10, changeTogether],
  [12, makeStronger],
  [18, changeWithoutLease],
  [10, oversleep],
  [12, clingToToken]
]

/** How long somebody with files in hand thinks. */
const holdMs = [5, 80] as const
/** Such a lease may be left to expire: nobody has to wait long for it. */
const shortTtlMs = 2000

export async function play(contender: Contender): Promise<void> {
  const total = plans.reduce((sum, [share]) => sum + share, 0)
  let at = contender.random() * total
  const [, plan] = plans.find(([share]) => (at -= share) < 0) ?? [0, changeOne]
  await plan(contender)
  await contender.pause(10, 150)
}

async function changeOne(contender: Contender): Promise<void> {
  const [file] = contender.pick(1) as [string]
  const options = {
    mode: contender.chance(0.4) ? 'shared' : 'exclusive',
    timeoutSeconds: waitSeconds(contender)
  } as const
  const reply = contender.chance(0.3)
    ? await contender.lockTry([file], options)
    : await contender.lockWait([file], options)
  if (!isMine(contender, file, reply)) return
  await work(contender, file)
  await giveBack(contender, [file])
}

/** Takes one after the other, in any order, while holding those before. */
async function changeSeveral(contender: Contender): Promise<void> {
  const files = contender.pick(contender.chance(0.3) ? 3 : 2)
  for (const file of files) {
    const isEager = contender.held.size > 0 && contender.chance(0.15)
    const reply = isEager
      ? await contender.append(file, undefined)
      : await contender.lockWait([file], { timeoutSeconds: waitSeconds(contender) })
    if (reply.code === 'DEADLOCK') break
    await contender.pause(...holdMs)
  }
  for (const file of files) if (contender.held.has(file)) await work(contender, file)
  await giveBack(contender, files)
}

/** All that do so go round the same way: so they meet in circles of three. */
async function goRound(contender: Contender): Promise<void> {
  const files = contender.pickInRing()
  for (const file of files) {
    const isEager = contender.held.size > 0 && contender.chance(0.3)
    await (isEager ? contender.append(file, undefined) : contender.lockWait([file]))
    await contender.pause(...holdMs)
  }
  await giveBack(contender, files)
}

async function changeTogether(contender: Contender): Promise<void> {
  const files = contender.pick(2 + Math.floor(contender.random() * 3))
  const options = { allOrNothing: contender.chance(0.5), timeoutSeconds: waitSeconds(contender) }
  await (contender.chance(0.4) ? contender.lockTry(files, options) : contender.lockWait(files, options))
  for (const file of files) if (contender.held.has(file)) await work(contender, file)
  await giveBack(contender, files)
}

/** From a shared to an exclusive lease: of two who do so at once, one has to give way. */
async function makeStronger(contender: Contender): Promise<void> {
  const [file] = contender.pick(1) as [string]
  await contender.lockWait([file], { mode: 'shared', timeoutSeconds: waitSeconds(contender) })
  if (!contender.held.has(file)) return
  await contender.read(file)
  await contender.pause(...holdMs)
  await contender.lockWait([file], { timeoutSeconds: waitSeconds(contender) })
  if (contender.held.has(file)) await work(contender, file)
  await giveBack(contender, [file])
}

async function changeWithoutLease(contender: Contender): Promise<void> {
  const [file] = contender.pick(1) as [string]
  if (contender.chance(0.3)) await contender.read(file)
  if (contender.chance(0.4)) await contender.append(file, undefined)
  else await contender.update(file, undefined)
}

/** Comes back when the lease should have ended. */
async function oversleep(contender: Contender): Promise<void> {
  if (contender.ttlMs > shortTtlMs) return changeOne(contender)
  const [file] = contender.pick(1) as [string]
  await contender.lockWait([file], { timeoutSeconds: waitSeconds(contender) })
  if (!contender.held.has(file)) return
  await contender.pause(contender.ttlMs + 20, contender.ttlMs + 400)
  await contender.append(file)
  await giveBack(contender, [file])
}

/** Writes with a token that it has given back. */
async function clingToToken(contender: Contender): Promise<void> {
  const [file] = contender.pick(1) as [string]
  await contender.lockWait([file], { timeoutSeconds: waitSeconds(contender) })
  const token = contender.held.get(file)
  await contender.release([file])
  if (token !== undefined) await contender.append(file, token)
}

async function work(contender: Contender, file: string): Promise<void> {
  for (let left = 1 + Math.floor(contender.random() * 3); left > 0 && contender.held.has(file); left -= 1) {
    const choice = contender.random()
    const token = contender.chance(0.8) ? contender.held.get(file) : undefined
    if (choice < 0.4) await contender.append(file, token)
    else if (choice < 0.7) await contender.update(file, token)
    else if (choice < 0.9) await contender.read(file)
    else await contender.renew([file])
    await contender.pause(...holdMs)
  }
}

async function giveBack(contender: Contender, files: readonly string[]): Promise<void> {
  if (contender.ttlMs <= shortTtlMs && contender.chance(0.1)) {
    for (const file of files) contender.held.delete(file)
    return
  }
  if (contender.chance(0.2)) await contender.releaseAll()
  else await contender.release(files)
}

function isMine(contender: Contender, file: string, { status }: Reply): boolean {
  return status === 'ok' && contender.held.has(file)
}

function waitSeconds(contender: Contender): number {
  return [0.2, 0.4, 1.5, 4][Math.floor(contender.random() * 4)] as number
}
