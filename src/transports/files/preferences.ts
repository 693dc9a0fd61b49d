// The Prefer header (RFC 7240): how long a change may wait, and whether it may be merged. Others are ignored, as the RFC asks.
import { OperationError } from '../../errors.ts'

export interface Preferences {
  readonly waitSeconds: number | undefined
  readonly merge: boolean
  /** For the header Preference-Applied; undefined if nothing was preferred. */
  readonly applied: string | undefined
}

/** @throws OperationError INVALID_REQUEST */
export function readPreferences(header: string | undefined): Preferences {
  const given = new Map(
    (header ?? '').split(',').map((text): [string, string] => {
      const [name = '', value = ''] = (text.split(';')[0] ?? '').split('=')
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')]
    })
  )
  const wait = given.get('wait')
  if (wait !== undefined && !/^\d{1,9}$/.test(wait))
    throw new OperationError(
      'INVALID_REQUEST',
      'Prefer: wait is a number of seconds, such as wait=5; wait=0 does not wait.'
    )
  const merge = given.has('merge')
  const applied = [...(wait === undefined ? [] : [`wait=${wait}`]), ...(merge ? ['merge'] : [])]
  return {
    waitSeconds: wait === undefined ? undefined : Number(wait),
    merge,
    applied: applied.length === 0 ? undefined : applied.join(', ')
  }
}
