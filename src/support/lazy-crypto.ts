// Node's crypto, loaded at its first use: hooks start around every tool call, need none of it, and would wait for it.
import type * as Crypto from 'node:crypto'

export const lazyCrypto = (): typeof Crypto => process.getBuiltinModule('node:crypto')
