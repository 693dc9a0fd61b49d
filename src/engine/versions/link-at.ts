// A symbolic link, as the log says what is at a path.
import { orUndefined } from '../../support/attempt.ts'
import { readLink } from '../files/links.ts'
import type { OpenEntry } from '../files/walk.ts'

type LinkNow = { readonly kind: 'entry'; readonly entry: { readonly link: string } }

/** Undefined if it has gone, or become something else, at this moment. */
export function linkAt(place: OpenEntry): LinkNow | undefined {
  const link = orUndefined(() => readLink(place))
  return link === undefined ? undefined : { kind: 'entry', entry: { link } }
}
