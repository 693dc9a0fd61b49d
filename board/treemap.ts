// A squarified treemap: areas by weight, near to squares, files of one folder together. Pure.

export interface Weighted {
  readonly path: string
  readonly weight: number
}

export interface Tile {
  readonly path: string
  readonly weight: number
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly isFolder: boolean
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const header = 16

/** Folders first, each followed by its files. */
export function layOut(files: readonly Weighted[], size: { readonly width: number; readonly height: number }): Tile[] {
  const folders = new Map<string, Weighted[]>()
  for (const file of files) {
    const folder = file.path.slice(0, Math.max(0, file.path.lastIndexOf('/')))
    folders.set(folder, [...(folders.get(folder) ?? []), file])
  }
  const weighted = Array.from(folders, ([path, members]) => ({
    path,
    weight: members.reduce((sum, { weight }) => sum + weight, 0)
  }))
  return squarify(weighted, { x: 0, y: 0, ...size }).flatMap((folder): Tile[] => {
    const inner = {
      x: folder.x + 2,
      y: folder.y + header,
      width: Math.max(0, folder.width - 4),
      height: Math.max(0, folder.height - header - 2)
    }
    const members = squarify(folders.get(folder.path) ?? [], inner)
    return [{ ...folder, isFolder: true }, ...members.map((tile) => ({ ...tile, isFolder: false }))]
  })
}

type Placed = Weighted & Box

function squarify(items: readonly Weighted[], box: Box): Placed[] {
  const total = items.reduce((sum, { weight }) => sum + weight, 0)
  const scale = (box.width * box.height) / Math.max(1e-9, total)
  const rest = [...items].sort((a, b) => b.weight - a.weight)
  const placed: Placed[] = []
  let space = box
  while (rest.length > 0) {
    const side = Math.min(space.width, space.height)
    const row: Weighted[] = []
    let best = Infinity
    while (rest.length > 0) {
      const ratio = worstRatio([...row, rest[0] as Weighted], side, scale)
      if (ratio > best) break
      best = ratio
      row.push(rest.shift() as Weighted)
    }
    if (row.length === 0) row.push(rest.shift() as Weighted)
    const thick = side <= 0 ? 0 : (row.reduce((sum, { weight }) => sum + weight, 0) * scale) / side
    const isTall = space.width >= space.height
    let at = isTall ? space.y : space.x
    for (const item of row) {
      const long = thick <= 0 ? 0 : (item.weight * scale) / thick
      placed.push(
        isTall
          ? { ...item, x: space.x, y: at, width: thick, height: long }
          : { ...item, x: at, y: space.y, width: long, height: thick }
      )
      at += long
    }
    space = isTall
      ? { ...space, x: space.x + thick, width: Math.max(0, space.width - thick) }
      : { ...space, y: space.y + thick, height: Math.max(0, space.height - thick) }
  }
  return placed
}

function worstRatio(row: readonly Weighted[], side: number, scale: number): number {
  const area = row.reduce((sum, { weight }) => sum + weight, 0) * scale
  const [largest, least] = [(row[0] as Weighted).weight * scale, (row.at(-1) as Weighted).weight * scale]
  return Math.max((side * side * largest) / (area * area), (area * area) / (side * side * least))
}
