// Rules about leases: those of others, those that are required, and the tokens of one's own.
import { by, ifTakes, why, type Check, type Rule } from './rule.ts'
import { readied, standing, textBefore } from './standing.ts'
import type { Case } from './way.ts'

async function refusedBy(c: Case, code: string): Promise<void> {
  const same = standing(c)
  await c.makes(c.way.kind === 'native' ? 'refused' : code)
  same()
}

const waitsForLease: Check = async (c) => {
  await readied(c)
  for (const path of c.way.kind === 'move' ? [c.path, c.other] : [c.path]) {
    await c.must(c.bob, 'lock_try', { filepaths: [path] })
    const same = standing(c)
    const { answer, text } = await c.makes(c.way.kind === 'native' ? 'refused' : 'LOCK_TIMEOUT')
    c.t.match(`${JSON.stringify(answer)}${text}`, c.bob, 'the holder is named')
    same()
    await c.must(c.bob, 'lock_release_all', {})
  }
  await c.makes('ok')
  c.hasAfter(textBefore(c))
}

const needsLease: Check = async (c) => {
  await readied(c)
  await refusedBy(c, 'LOCK_REQUIRED')
  await c.must(c.ann, 'lock_try', { filepaths: c.way.kind === 'move' ? [c.path, c.other] : [c.path] })
  await c.makes('ok')
  c.hasAfter(textBefore(c))
  await c.must(c.ann, 'lock_release_all', {})
}

const checksToken: Check = async (c) => {
  await readied(c)
  const { results } = await c.must(c.ann, 'lock_try', { filepaths: [c.path] })
  const token = results[0].fencing_token as number
  const same = standing(c)
  await c.makes('LEASE_LOST', { token: token + 1 })
  same()
  await c.makes('ok', { token })
  c.hasAfter(textBefore(c))
}

const noToken = 'It takes no fencing token: the lease of the agent counts by its name.'

export const leaseRules: readonly Rule[] = [
  {
    title: 'a change waits for the lease of another agent, at each of its names',
    cells: {
      content: by(waitsForLease),
      create: by(waitsForLease),
      remove: by(waitsForLease),
      move: by(waitsForLease),
      undo: by(waitsForLease),
      native: by(waitsForLease)
    }
  },
  {
    title: 'with locks.enforcement required a change needs a lease',
    world: 'required',
    cells: {
      content: by(needsLease),
      create: by(needsLease),
      remove: by(needsLease),
      move: by(needsLease),
      undo: by(needsLease),
      native: by(needsLease)
    }
  },
  {
    title: 'a fencing token that is not that of the lease stops a change',
    cells: {
      content: ifTakes('token', checksToken, noToken),
      create: ifTakes('token', checksToken, noToken),
      remove: ifTakes('token', checksToken, noToken),
      move: ifTakes('token', checksToken, noToken),
      undo: why(noToken),
      native: why(noToken)
    }
  }
]
