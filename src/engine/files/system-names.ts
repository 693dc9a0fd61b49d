// Which names the system takes for a file. Linux and macOS take every name; how long one may be, their file systems say.

export interface RefusedName {
  readonly name: string
  /** The subject is the path. */
  readonly fault: string
}

/** With anything behind a dot, too. Node makes files of such names, which few programs can open or delete. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d\u00b9\u00b2\u00b3]) *(?:\.|$)/i
// oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
const neverTaken = /[<>"|?*\0-\x1f]/
/** In UTF-16 units. */
const longestName = 255

/** Of Windows: https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const rules: readonly { readonly isRefused: (name: string) => boolean; readonly fault: string }[] = [
  {
    isRefused: (name) => name.includes(':'),
    fault: 'has a colon in a name, by which Windows means a stream of a file'
  },
  {
    isRefused: (name) => neverTaken.test(name),
    fault: 'has a character in a name that Windows takes in none: < > " | ? * or a control character'
  },
  {
    isRefused: (name) => /[. ]$/.test(name),
    fault: 'has a name that ends with a dot or a blank, which Windows leaves out'
  },
  { isRefused: (name) => device.test(name), fault: 'has the name of a device of Windows in it, such as NUL or COM1' },
  { isRefused: (name) => name.length > longestName, fault: `has a name of more than ${longestName} characters` }
]

/** The first name of a path that Windows does not take, or takes for another one. */
export function findRefusedByWindows(path: string): RefusedName | undefined {
  const names = path.replace(/^[A-Za-z]:(?=[\\/]|$)/, '').split(/[\\/]/)
  for (const name of names.filter((each) => !/^\.{0,2}$/.test(each))) {
    const rule = rules.find(({ isRefused }) => isRefused(name))
    if (rule !== undefined) return { name, fault: rule.fault }
  }
  return undefined
}

/** @returns undefined on systems that take every name */
export const findRefusedName: (path: string) => RefusedName | undefined =
  process.platform === 'win32' ? findRefusedByWindows : () => undefined
