// The story that every server is asked for: one agent's day in a tree that another agent changes, too. In the end the files are to have every change
// of both, each right for the other: a call of what the other has renamed is wrong. How contentions are handled is each server's ordinary way: ours
// refuses the stale edit and gives the difference; Claude Code refuses it and wants the file read; the reference server notices nothing, so that its
// agent needs a rule of its own (reference-agent.ts). What must come of the story is computed here.
import { pathOf } from './project.ts'

export interface Edit {
  readonly path: string
  readonly old: string
  readonly next: string
}

/** An edit that the other agent's change comes before; the agent does not know of it yet. */
export interface Contended extends Edit {
  readonly other: Edit
  /** What the agent makes of it when it knows. Without: the same. */
  readonly adjusted?: Pick<Edit, 'old' | 'next'>
}

/** Steps of one title are one row of the tables. */
export type Step = { readonly title: string } & (
  | { readonly does: 'list'; readonly path: string }
  /** By names. */
  | { readonly does: 'search'; readonly pattern: string }
  | { readonly does: 'read'; readonly path: string }
  | { readonly does: 'edit'; readonly edit: Edit }
  /** The agent wants to know what the other has changed before it changes the file. */
  | { readonly does: 'contention'; readonly edit: Contended }
  /** The agent's change is right whatever the other does elsewhere in the file. */
  | { readonly does: 'merge'; readonly edit: Contended }
  /** Edits that belong together. After the first of them the other agent wants to change one of the files. */
  | { readonly does: 'lease'; readonly edits: readonly Edit[]; readonly other: Edit }
)

const [orders, customers, products, invoices, suppliers] = [
  pathOf('order'),
  pathOf('customer'),
  pathOf('product'),
  pathOf('invoice'),
  pathOf('supplier')
] as const

/** The line of a setter that checks what is given. */
const check = (word: string, field: string) =>
  `    if (!isValid('${field}', ${field})) throw new Refused('${word}', '${field}', ${field})\n`
const same = (word: string, field: string) => `    if (${word}.${field} === ${field}) return ${word}\n`
const told = (word: string, field: string) => `    this.#ledger.append({ kind: '${word}', id, what: '${field}' })\n`

const plain: readonly Edit[] = [
  {
    path: orders,
    old: check('order', 'discount') + same('order', 'discount'),
    next:
      check('order', 'discount') +
      same('order', 'discount') +
      `    if (order.version > 1 && Number(discount) > 50) {\n` +
      `      throw new Refused('order', 'discount', 'more than half of a confirmed order')\n` +
      `    }\n`
  },
  {
    path: products,
    old: check('product', 'weight') + same('product', 'weight'),
    next:
      `    if (weight.endsWith('g') && !weight.endsWith('kg')) return this.setWeight(id, inKilograms(weight))\n` +
      check('product', 'weight') +
      same('product', 'weight')
  },
  {
    path: invoices,
    old: told('invoice', 'reminder'),
    next:
      `    this.#ledger.append({ kind: 'invoice', id, what: 'reminder', value: reminder })\n` +
      `    if (Number(reminder) > 2) this.#ledger.append({ kind: 'invoice', id, what: 'overdue' })\n`
  },
  {
    path: suppliers,
    old: `    const supplier = this.find(id)\n` + check('supplier', 'phone'),
    next:
      `    const supplier = this.find(id)\n` +
      `    const digits = phone.replaceAll(/[^+\\d]/g, '')\n` +
      `    if (digits.length < 6) throw new Refused('supplier', 'phone', 'too short')\n` +
      check('supplier', 'phone')
  }
]

/** The other has changed a line that the agent's edit replaces. */
const sameLine: Contended = {
  path: customers,
  old: check('customer', 'email') + same('customer', 'email'),
  next:
    check('customer', 'email') +
    `    if (this.#hasEmail(email)) throw new Refused('customer', 'email', 'taken')\n` +
    same('customer', 'email'),
  other: {
    path: customers,
    old: check('customer', 'email'),
    next: `    if (!isValid('email', email.trim())) throw new Refused('customer', 'email', email)\n`
  },
  adjusted: {
    old: same('customer', 'email'),
    next:
      `    if (this.#hasEmail(email.trim())) throw new Refused('customer', 'email', 'taken')\n` +
      same('customer', 'email')
  }
}

/** The other has renamed what the agent's edit calls, far from it. */
const renamed: Contended = {
  path: products,
  old: told('product', 'shelf'),
  next: `    this.#ledger.append({ kind: 'product', id, what: 'shelf', day: this.#today() })\n`,
  other: {
    path: products,
    old: `    this.#ledger.append({ kind: 'product', id, what: 'removed', day: this.#today() })\n  }\n\n  #today(): string {\n`,
    next: `    this.#ledger.append({ kind: 'product', id, what: 'removed', day: this.#day() })\n  }\n\n  #day(): string {\n`
  },
  adjusted: {
    old: told('product', 'shelf'),
    next: `    this.#ledger.append({ kind: 'product', id, what: 'shelf', day: this.#day() })\n`
  }
}

/** The other has put lines between two that the agent's edit replaces. */
const between: Contended = {
  path: invoices,
  old: check('invoice', 'due') + same('invoice', 'due'),
  next: check('invoice', 'due') + `    if (due < this.#today()) throw new Refused('invoice', 'due', 'in the past')\n`,
  other: {
    path: invoices,
    old: check('invoice', 'due'),
    next:
      check('invoice', 'due') + `    if (invoice.reminder !== '0') throw new Refused('invoice', 'due', 'reminded')\n`
  },
  adjusted: {
    old: same('invoice', 'due'),
    next: `    if (due < this.#today()) throw new Refused('invoice', 'due', 'in the past')\n`
  }
}

const elsewhere: Contended = {
  path: suppliers,
  old: told('supplier', 'rating'),
  next: `    this.#ledger.append({ kind: 'supplier', id, what: 'rating', value: rating })\n`,
  other: {
    path: suppliers,
    old: `  get size(): number {\n    return this.#entries.size\n  }\n`,
    next:
      `  get size(): number {\n    return this.#entries.size\n  }\n\n` +
      `  ids(): string[] {\n    return [...this.#entries.keys()]\n  }\n`
  }
}

const together: Step = {
  title: 'a lease on two files, 4 edits',
  does: 'lease',
  edits: [
    {
      path: orders,
      old: `import { isValid } from './rules.ts'\n`,
      next: `import type { Customers } from './customers.ts'\nimport { isValid } from './rules.ts'\n`
    },
    {
      path: orders,
      old: told('order', 'note'),
      next: `    this.#ledger.append({ kind: 'order', id, what: 'note', text: note.slice(0, 100) })\n`
    },
    {
      path: customers,
      old: `  #today(): string {\n`,
      next:
        `  #hasEmail(email: string): boolean {\n` +
        `    return [...this.#entries.values()].some((customer) => customer.email === email)\n` +
        `  }\n\n  #today(): string {\n`
    },
    {
      path: customers,
      old: check('customer', 'language'),
      next: check('customer', 'language').replace('language))', 'language.toLowerCase()))')
    }
  ],
  other: { path: customers, old: told('customer', 'city'), next: told('customer', 'city').replace(`'city'`, `'place'`) }
}

export const story: readonly Step[] = [
  { title: 'a listing of 24 files', does: 'list', path: 'src' },
  { title: 'a search by name', does: 'search', pattern: '**/*orders*' },
  ...[orders, customers, products, invoices, suppliers].map((path): Step => ({
    title: 'reading 5 files',
    does: 'read',
    path
  })),
  ...plain.map((edit): Step => ({ title: '4 edits', does: 'edit', edit })),
  { title: 'contention: the same line', does: 'contention', edit: sameLine },
  { title: 'contention: what it calls was renamed', does: 'contention', edit: renamed },
  { title: 'contention: a line in between', does: 'contention', edit: between },
  { title: 'a merge', does: 'merge', edit: elsewhere },
  together
]

/** The change that the agent makes when it knows of the other's. */
export function adjusted({ path, old, next, adjusted: known }: Contended): Edit {
  return { path, old, next, ...known }
}

/** What the files must be in the end, with every change of both agents. */
export function outcome(files: Readonly<Record<string, string>>): Record<string, string> {
  const current = { ...files }
  for (const edit of story.flatMap(editsOf)) current[edit.path] = applied(current[edit.path] ?? '', edit)
  return current
}

function editsOf(step: Step): readonly Edit[] {
  if (step.does === 'edit') return [step.edit]
  if (step.does === 'lease') return [...step.edits, step.other]
  return step.does === 'contention' || step.does === 'merge' ? [step.edit.other, adjusted(step.edit)] : []
}

/** @throws if the text is not there exactly once */
export function applied(text: string, { path, old, next }: Edit): string {
  const at = text.indexOf(old)
  if (at === -1 || text.includes(old, at + 1)) throw new Error(`not once in ${path}: ${old}`)
  return text.slice(0, at) + next + text.slice(at + old.length)
}
