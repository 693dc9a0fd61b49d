// Names of characters that a reader cannot tell apart, or cannot see, as Unicode has them.

const names: Readonly<Record<number, string>> = {
  0x09: 'TAB',
  0x0a: 'LINE FEED',
  0x0d: 'CARRIAGE RETURN',
  0x20: 'SPACE',
  0x22: 'QUOTATION MARK',
  0x27: 'APOSTROPHE',
  0x2d: 'HYPHEN-MINUS',
  0x60: 'GRAVE ACCENT',
  0xa0: 'NO-BREAK SPACE',
  0xad: 'SOFT HYPHEN',
  0xb4: 'ACUTE ACCENT',
  0x2002: 'EN SPACE',
  0x2003: 'EM SPACE',
  0x2007: 'FIGURE SPACE',
  0x2009: 'THIN SPACE',
  0x200a: 'HAIR SPACE',
  0x200b: 'ZERO WIDTH SPACE',
  0x200c: 'ZERO WIDTH NON-JOINER',
  0x200d: 'ZERO WIDTH JOINER',
  0x200e: 'LEFT-TO-RIGHT MARK',
  0x200f: 'RIGHT-TO-LEFT MARK',
  0x2010: 'HYPHEN',
  0x2011: 'NON-BREAKING HYPHEN',
  0x2013: 'EN DASH',
  0x2014: 'EM DASH',
  0x2018: 'LEFT SINGLE QUOTATION MARK',
  0x2019: 'RIGHT SINGLE QUOTATION MARK',
  0x201c: 'LEFT DOUBLE QUOTATION MARK',
  0x201d: 'RIGHT DOUBLE QUOTATION MARK',
  0x2026: 'HORIZONTAL ELLIPSIS',
  0x2028: 'LINE SEPARATOR',
  0x2029: 'PARAGRAPH SEPARATOR',
  0x202f: 'NARROW NO-BREAK SPACE',
  0x2060: 'WORD JOINER',
  0x2212: 'MINUS SIGN',
  0x3000: 'IDEOGRAPHIC SPACE',
  0xfe0f: 'VARIATION SELECTOR-16',
  0xfeff: 'ZERO WIDTH NO-BREAK SPACE'
}

/** Such as `U+00A0 NO-BREAK SPACE`, or `U+00E9 "é"` for one that can be seen. */
export function nameCodePoint(codePoint: number): string {
  const code = `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`
  const name = names[codePoint]
  if (name !== undefined) return `${code} ${name}`
  const char = String.fromCodePoint(codePoint)
  // A combining mark would be drawn upon the quote.
  if (/\p{M}/u.test(char)) return `${code} "\u25cc${char}"`
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(char) ? `${code} "${char}"` : code
}
