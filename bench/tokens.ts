// Tokens, approximately: there is no tokenizer among the dependencies, and none is worth one.

/** The pattern by which GPT-style tokenizers cut a text into pieces before they look them up. */
const pieces =
  /'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/giu
/** Longer pieces are seldom one token: identifiers, mostly. */
const charactersPerToken = 8

export const tokenRule = `tokens (approx.): pieces by the pre-tokenisation pattern of GPT-style tokenizers, one token for each begun ${charactersPerToken} characters of a piece`

/** By the tokenizer o200k lists of tools have 3 to 4 % more tokens than `countTokens` finds. */
export const o200kPerToken = 1.06

export function countTokens(text: string): number {
  let count = 0
  for (const [piece] of text.matchAll(pieces)) count += Math.ceil(piece.length / charactersPerToken)
  return count
}
