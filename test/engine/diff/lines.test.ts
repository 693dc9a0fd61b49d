// Lines: what ends one, how many there are, where one begins.
import fc from 'fast-check'
import t from 'tap'
import {
  countByteLines,
  countLines,
  lineEnd,
  lineNumbersAt,
  lineStart,
  splitLines,
  withoutTerminator
} from '../../../src/engine/diff/lines.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { holds, text } from './fixtures/texts.ts'

t.test('a line ends with \\n, \\r\\n or a lone \\r, and with nothing else', async (t) => {
  t.strictSame(splitLines('a\nb\r\nc\rd'), ['a\n', 'b\r\n', 'c\r', 'd'])
  t.strictSame(splitLines('\r\r\n\n\r'), ['\r', '\r\n', '\n', '\r'])
  t.strictSame(splitLines('a\u2028b\u2029c\u0085d\v\f'), ['a\u2028b\u2029c\u0085d\v\f'])
  t.strictSame(splitLines(''), [])
})

t.test('a final newline makes no extra line', async (t) => {
  for (const [text, count] of [
    ['', 0],
    ['a', 1],
    ['a\n', 1],
    ['a\r', 1],
    ['a\r\n', 1],
    ['\n', 1],
    ['a\nb', 2],
    ['a\r\rb\n', 3]
  ] as const) {
    t.equal(countLines(text), count, JSON.stringify(text))
    t.equal(countByteLines(Buffer.from(text)), count, `${JSON.stringify(text)} as bytes`)
  }
})

t.test('a line loses its terminator and nothing else', async (t) => {
  t.strictSame(['a\n', 'a\r\n', 'a\r', 'a', 'a\n\n', '\r\n', ''].map(withoutTerminator), [
    'a',
    'a',
    'a',
    'a',
    'a\n',
    '',
    ''
  ])
})

t.test('the lines joined are the text, whatever its terminators', async (t) => {
  holds(
    t,
    fc.property(text(), (text) => {
      const lines = splitLines(text)
      return (
        lines.join('') === text &&
        lines.length === countLines(text) &&
        lines.length === countByteLines(Buffer.from(text)) &&
        lines.every((line) => countLines(line) === 1)
      )
    }),
    2_000
  )
})

t.test('an offset is in the line that begins at or before it and ends behind it', async (t) => {
  holds(
    t,
    fc.property(text(), (text) => {
      const offsets = Array.from(text, (_, offset) => offset).filter((offset) => offset < text.length)
      let number = 0
      let end = 0
      const expected = offsets.map((offset) => {
        while (end <= offset) end += splitLines(text)[number++]!.length
        return number
      })
      const starts = splitLines(text).map((_, index, lines) => lines.slice(0, index).join('').length)
      return (
        JSON.stringify(lineNumbersAt(text, offsets)) === JSON.stringify(expected) &&
        offsets.every((offset, index) => lineStart(text, offset) === starts[expected[index]! - 1]) &&
        starts.every((start, index) => lineEnd(text, start) === (starts[index + 1] ?? text.length))
      )
    }),
    1_000
  )
})

t.test('megabytes are split and counted, in linear time or this would not end', async (t) => {
  const count = lengthOf({ full: 256, short: 64 }) * 1024
  for (const terminator of ['\n', '\r\n', '\r']) {
    const line = `${'x'.repeat(39)}${terminator}`
    const text = line.repeat(count)
    const lines = splitLines(text)
    t.strictSame([lines.length, new Set(lines)], [count, new Set([line])], JSON.stringify(terminator))
    t.equal(countLines(text), count)
  }
})
