// The texts made of versions that are read again and again. One that is read once would be kept only to be dropped for the next one.
import { LRUCache } from 'lru-cache'
import { KnownText } from './known-text.ts'

/** What a text takes beside its bytes: its characters, and twice its JSON. */
const sizePerCharacter = 5

const sizeOf = ({ text }: KnownText): number => text.length * sizePerCharacter + 200

/** @param maxBytes bound on what is kept; 0 keeps nothing */
export function createKnownTexts(maxBytes: number) {
  const kept =
    maxBytes > 0 ? new LRUCache<Buffer, KnownText>({ maxSize: maxBytes, sizeCalculation: sizeOf }) : undefined
  /** Versions whose text was made lately: as many as would fill `kept`, and as many before them. */
  let recent = new WeakSet<Buffer>()
  let before = new WeakSet<Buffer>()
  let recentBytes = 0

  function noteMade(bytes: Buffer, size: number): void {
    if (recentBytes + size > maxBytes) {
      before = recent
      recent = new WeakSet()
      recentBytes = 0
    }
    recent.add(bytes)
    recentBytes += size
  }

  return {
    /** The text of bytes in UTF-8; kept from the second time on. @param decode called for bytes whose text is not kept */
    of(bytes: Buffer, decode: () => string): KnownText {
      const known = kept?.get(bytes)
      if (known !== undefined) return known
      const text = new KnownText(decode())
      if (recent.has(bytes) || before.has(bytes)) kept?.set(bytes, text)
      else noteMade(bytes, sizeOf(text))
      return text
    },
    /** Bytes of memory that are taken. */
    get size(): number {
      return kept?.calculatedSize ?? 0
    }
  }
}
