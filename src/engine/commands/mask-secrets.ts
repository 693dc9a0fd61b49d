// The text of a command as the log keeps it: at most 500 characters, without what looks like a secret.
import { beginningOf } from '../../support/cut-text.ts'

const maxLength = 500
/** Of what is searched for secrets: the patterns take longer than linear time. */
const maxSearched = 4000
const mask = '***'

const value = String.raw`(?:"[^"]*"|'[^']*'|[^\s'"&|;<>)]+)`
const secretWord = String.raw`[\w.-]*(?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|passw(?:or)?d|passphrase|credentials?)[\w.-]*`
const secretName = String.raw`(?:${secretWord}|[\w.-]*[_-](?:key|pass|pw|auth)|pass|pw)`

/** Each with what stands in its place. */
const named: readonly (readonly [RegExp, string])[] = [
  [/\bAuthorization(\s*[:=]\s*)[^'"\r\n]+/gi, `Authorization$1${mask}`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/g, `$1 ${mask}`],
  [new RegExp(String.raw`(^|[\s'"&?;(,{-])(${secretName})(\s*=\s*|\s*:\s*)${value}`, 'gi'), `$1$2$3${mask}`],
  [new RegExp(String.raw`(\s--?${secretName}\s+)${value}`, 'gi'), `$1${mask}`],
  [/(:\/\/[^\s/:@'"]*:)[^\s/@'"]+@/g, `$1${mask}@`],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, mask]
]

/** Tokens that their services have given a form. */
const tokens = [
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bglpat-[\w-]{16,}/g,
  /\bsk-[\w-]{16,}/g,
  /\b(?:sk|pk|rk)_(?:live|test)_\w{10,}/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\bya29\.[\w-]{20,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bpypi-[\w-]{30,}/g,
  /\bhf_[A-Za-z0-9]{20,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g
] as const

export function maskSecrets(command: string): string {
  let text = beginningOf(command.trim(), maxSearched)
  for (const [form, instead] of named) text = text.replaceAll(form, instead)
  for (const form of tokens) text = text.replaceAll(form, mask)
  return beginningOf(text, maxLength)
}
