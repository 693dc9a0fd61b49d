// Hashes as text, whole or in part: "sha256:" and hex digits.
const algorithm = 'sha256:'

const wholeDigits = 64
/** As many as messages name a version by. */
export const shortDigits = 16

/** The hash with no more than this many of its digits. */
export function firstDigits(hash: string, count = shortDigits): string {
  return hash.slice(0, algorithm.length + count)
}

/** Lines of a listing give the digits alone. */
export function withAlgorithm(digits: string): string {
  return digits.startsWith(algorithm) ? digits : algorithm + digits
}

export function withoutAlgorithm(hash: string): string {
  return hash.slice(algorithm.length)
}

export function isWhole(hash: string): boolean {
  return hash.length === algorithm.length + wholeDigits
}
