// Prose of generated pages, in lines that end before column 120.

const width = 120

/** Breaks at spaces, never inside `code`. Further lines begin with the indent. */
export function wrap(text: string, indent = ''): string {
  const [first = '', ...words] = text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []
  const lines = [first]
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`
    if (longer.length < width) lines[lines.length - 1] = longer
    else lines.push(indent + word)
  }
  return lines.join('\n')
}
