// The files of the story: modules of a shop, each of another noun and of one shape, as long as is asked for.

/** Those that the agent reads and changes come first. */
const modules: readonly (readonly [word: string, ...fields: string[]])[] = [
  ['order', 'carrier', 'discount', 'channel', 'note'],
  ['customer', 'email', 'street', 'city', 'language'],
  ['product', 'title', 'colour', 'weight', 'shelf'],
  ['invoice', 'total', 'currency', 'due', 'reminder'],
  ['supplier', 'phone', 'contact', 'region', 'rating']
]

/** Only listed. */
const neighbours =
  'basket campaign category clock country coupon delivery errors ledger payment refund review rules session shipment stock tax voucher warehouse'

/** As a module has them beside its own. */
const furtherFields =
  'status source label owner branch remark origin season bundle margin packing insurance approval barcode locale audit'

/** For files of about 100 to 550 lines. */
export const fieldCounts = [4, 9, 20, 45] as const
export const usualFieldCount = 9

export function lineCount(fieldCount: number): number {
  return moduleText('order', Array.from({ length: fieldCount }, String)).split('\n').length - 1
}

/** @param fieldCount of a module: each is a method of eleven lines */
export function projectFiles(fieldCount: number): Record<string, string> {
  const others = furtherFields.split(' ')
  const fieldsOf = (own: readonly string[]) =>
    Array.from({ length: fieldCount }, (_, index) => {
      const further = index - own.length
      const round = Math.floor(further / others.length)
      return own[index] ?? `${others[further % others.length]}${round === 0 ? '' : round + 1}`
    })
  return {
    'README.md': '# Shop\n\nKeeps orders, customers, products, invoices and suppliers.\n',
    ...Object.fromEntries(modules.map(([word, ...own]) => [pathOf(word), moduleText(word, fieldsOf(own))])),
    ...Object.fromEntries(modules.map(([word]) => [`test/${word}s.test.ts`, `import '../src/${word}s.ts'\n`])),
    ...Object.fromEntries(neighbours.split(' ').map((word) => [`src/${word}.ts`, `export const name = '${word}'\n`]))
  }
}

export function pathOf(word: string): string {
  return `src/${word}s.ts`
}

function moduleText(word: string, fields: readonly string[]): string {
  const type = capital(word)
  return `// ${type}s: kept by their ids, checked before they change, and told to the ledger.
import { randomUUID } from 'node:crypto'
import type { Clock } from './clock.ts'
import { NotFound, Refused } from './errors.ts'
import type { Ledger } from './ledger.ts'
import { isValid } from './rules.ts'

export interface ${type} {
  readonly id: string
  readonly version: number
${fields.map((field) => `  readonly ${field}: string\n`).join('')}}

export class ${type}s {
  readonly #entries = new Map<string, ${type}>()
  readonly #ledger: Ledger
  readonly #clock: Clock

  constructor(ledger: Ledger, clock: Clock) {
    this.#ledger = ledger
    this.#clock = clock
  }

  get size(): number {
    return this.#entries.size
  }

  add(given: Omit<${type}, 'id' | 'version'>): ${type} {
    const ${word} = { ...given, id: randomUUID(), version: 1 }
    this.#entries.set(${word}.id, ${word})
    this.#ledger.append({ kind: '${word}', id: ${word}.id, what: 'added' })
    return ${word}
  }

  /** @throws NotFound */
  find(id: string): ${type} {
    const found = this.#entries.get(id)
    if (found === undefined) throw new NotFound('${word}', id)
    return found
  }
${fields.map((field) => setter(word, field)).join('')}
  /** Does nothing if it is gone already. */
  remove(id: string): void {
    if (!this.#entries.delete(id)) return
    this.#ledger.append({ kind: '${word}', id, what: 'removed', day: this.#today() })
  }

  #today(): string {
    return this.#clock.now().toISOString().slice(0, 10)
  }
}
`
}

function setter(word: string, field: string): string {
  const type = capital(word)
  return `
  /** @throws NotFound, and Refused if the ${field} is not valid */
  set${capital(field)}(id: string, ${field}: string): ${type} {
    const ${word} = this.find(id)
    if (!isValid('${field}', ${field})) throw new Refused('${word}', '${field}', ${field})
    if (${word}.${field} === ${field}) return ${word}
    const changed = { ...${word}, ${field}, version: ${word}.version + 1 }
    this.#entries.set(id, changed)
    this.#ledger.append({ kind: '${word}', id, what: '${field}' })
    return changed
  }
`
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
