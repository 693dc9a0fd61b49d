// Which of the offered media types a client prefers, by its Accept header (RFC 9110, 12.5.1).

/** The offer that the header values most; the first of equal ones, and the first if the header names none of them. */
export function preferredType<Offer extends string>(accept: string | undefined, offers: readonly [Offer, ...Offer[]]) {
  const ranges = (accept ?? '*/*').split(',').map(readRange)
  let best: { readonly offer: Offer; readonly quality: number } = { offer: offers[0], quality: 0 }
  for (const offer of offers) {
    const quality = qualityOf(offer, ranges)
    if (quality > best.quality) best = { offer, quality }
  }
  return best.offer
}

interface Range {
  readonly type: string
  readonly quality: number
}

function readRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = given === undefined ? 1 : Number(given.slice(2))
  return { type, quality: Number.isNaN(quality) ? 0 : quality }
}

/** The most specific range counts. */
function qualityOf(offer: string, ranges: readonly Range[]): number {
  for (const wanted of [offer, `${offer.slice(0, offer.indexOf('/'))}/*`, '*/*']) {
    const range = ranges.find(({ type }) => type === wanted)
    if (range !== undefined) return range.quality
  }
  return 0
}
