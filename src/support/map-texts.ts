// Changes the texts under certain names in plain JSON, such as the paths of an answer.

/** @returns a copy in which each text under one of these names, or in a list under it, is mapped; deeper than `maxDepth` nothing is */
export function mapTexts(
  value: unknown,
  names: ReadonlySet<string>,
  map: (text: string) => string,
  maxDepth = 8
): unknown {
  if (typeof value !== 'object' || value === null || maxDepth === 0) return value
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, names, map, maxDepth - 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, item]: [string, unknown]) => {
      if (!names.has(name)) return [name, mapTexts(item, names, map, maxDepth - 1)]
      const mapItem = (one: unknown) => (typeof one === 'string' ? map(one) : mapTexts(one, names, map, maxDepth - 1))
      return [name, Array.isArray(item) ? item.map(mapItem) : mapItem(item)]
    })
  )
}
