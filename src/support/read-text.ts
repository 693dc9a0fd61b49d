// Reads a file as text in UTF-8.
import { readFileSync } from 'node:fs'

/**
 * Given an encoding, readFileSync of Node 20 aborts the process if closing the file fails, as it can on a network volume. Without one
 * it throws.
 * @param file its path, or an open descriptor
 */
export function readText(file: string | number): string {
  return readFileSync(file).toString()
}
