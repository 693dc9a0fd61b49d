// Bytes and text: strict in both directions.
import fc from 'fast-check'
import tap, { type Test } from 'tap'
import { decodeText, encodeText } from '../../../src/engine/files/text.ts'

const failsWith = (t: Test, run: () => unknown) => t.throws(run, { code: 'ENCODING_ERROR' })

tap.test('UTF-8 text survives the round trip to the byte, byte order mark and line ends included', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '\u00e9', '\u{1f600}', '\r', '\n', '\ufeff', '\u2028', '\0') }),
      (text) => {
        const bytes = Buffer.from(text, 'utf8')
        return decodeText(bytes, 'utf-8', 'f') === text && encodeText(text, 'UTF-8', 'f').equals(bytes)
      }
    )
  )
  t.equal(decodeText(Buffer.from('\ufeffa'), 'utf8', 'f'), '\ufeffa')
})

tap.test('bytes that are not valid in the encoding are an error, never repaired', async (t) => {
  failsWith(t, () => decodeText(Buffer.from([0x61, 0xff]), 'utf-8', 'f'))
  failsWith(t, () => decodeText(Buffer.from([0xed, 0xa0, 0x80]), 'utf-8', 'f'))
  failsWith(t, () => decodeText(Buffer.from([0x61, 0x00, 0x62]), 'utf-16le', 'f'))
  failsWith(t, () => decodeText(Buffer.from([0x81]), 'shift_jis', 'f'))
})

tap.test('text that the encoding has no form for is an error', async (t) => {
  failsWith(t, () => encodeText('\u20ac', 'iso-8859-1', 'f'))
  failsWith(t, () => encodeText('\ud800', 'utf-8', 'f'))
  failsWith(t, () => encodeText('\u{1f600}', 'shift_jis', 'f'))
})

tap.test('an encoding that is none is an error', async (t) => {
  for (const encoding of ['nonsense', 'hex', 'base64', 'binary', ''])
    failsWith(t, () => encodeText('00', encoding, 'f'))
})

tap.test('other encodings keep their bytes', async (t) => {
  for (const [encoding, text] of [
    ['utf-16le', 'a\u00e9\u{1f600}\r\n'],
    ['utf-16be', 'a\u00e9'],
    ['windows-1252', 'na\u00efve \u20ac'],
    ['shift_jis', '\u65e5\u672c'],
    ['latin1', '\u00ff']
  ] as const) {
    const bytes = encodeText(text, encoding, 'f')
    t.equal(decodeText(bytes, encoding, 'f'), text, encoding)
    t.notSame(bytes, Buffer.from(text), encoding)
  }
})
