// Calls the operations on layers, of the server of this tree: on this machine and of this user, since a layer is made of files and mounts.
import { maxCommandChars } from '../../../schemas/layers.ts'
import { callAuthority } from '../hook/call-authority.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { quoteWord } from '../../support/shell/quote-word.ts'

const maxAnswerBytes = 64 * 1024 * 1024

/** @param root real path of the first root */
export function callLayers(root: string) {
  const { signal } = new AbortController()
  /** @throws Error that says why there is no answer */
  return async <Answer>(name: string, input: object): Promise<Answer> =>
    (await callAuthority(root, { name, input, signal, maxAnswerBytes })) as Answer
}

/** As it would be typed, cut. */
export function shownCommand(words: readonly string[]): string {
  return beginningOf(words.map(quoteWord).join(' '), maxCommandChars)
}
