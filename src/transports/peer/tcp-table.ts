// The TCP connections of this machine and the users of their processes, as Linux lists them in /proc/net.
import { closeSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { endianness } from 'node:os'
import { isErrno } from '../../support/errno.ts'

/** `tcp6` also has the IPv4 connections of IPv6 sockets. */
export type TableName = 'tcp' | 'tcp6'

/** One end of a connection. */
export interface End {
  readonly address: string
  readonly port: number
}

export interface TcpTable {
  /** User id of the process that holds the first of these two ends; undefined if none does, such as after its close. */
  userOf(end: End, otherEnd: End): number | undefined
}

const pageBytes = 4096
const pathOf = (name: TableName) => `/proc/net/${name}`

/** False if the system has no such table, or does not show it. */
export function hasTcpTable(): boolean {
  let fd: number | undefined
  try {
    fd = openSync(pathOf('tcp'), 'r')
    const start = Buffer.alloc(pageBytes)
    readSync(fd, start)
    // If it is masked, as in some containers, something else is there.
    return start.includes('local_address')
  } catch {
    return false
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Takes milliseconds, mostly in the kernel, which walks all its connections: a thread of the pool waits for that. */
export async function readTcpTable(name: TableName): Promise<TcpTable> {
  const text = await readAll(name)
  const key = ({ address, port }: End) => `${toHex(address, name)}:${port.toString(16).padStart(4, '0').toUpperCase()}`
  return { userOf: (end, otherEnd) => findUser(text, `${key(end)} ${key(otherEnd)}`) }
}

/** The kernel fills a page with rows; space for this is left only after the last row. */
const roomBytes = 512
const sliceMs = 0.5

async function readAll(name: TableName): Promise<string> {
  const file = await open(pathOf(name)).catch((error: unknown) => {
    // A machine without IPv6.
    if (name === 'tcp6' && isErrno(error, 'ENOENT')) return undefined
    throw error
  })
  if (file === undefined) return ''
  const page = Buffer.allocUnsafe(pageBytes)
  let text = ''
  /** True at the end. A further read would find nothing, after another walk through all connections. */
  const take = (length: number) => {
    text += page.toString('latin1', 0, length)
    return length < pageBytes - roomBytes
  }
  try {
    for (;;) {
      if (take((await file.read(page, 0, pageBytes)).bytesRead)) return text
      // If there are many rows, the next page takes less time than the way to a thread and back.
      const start = performance.now()
      while (performance.now() - start < sliceMs) if (take(readSync(file.fd, page))) return text
    }
  } finally {
    await file.close()
  }
}

/** A process is still trying to connect with these ends: it is not the existing connection. */
const synSent = '02'

function findUser(text: string, ends: string): number | undefined {
  for (let at = text.indexOf(ends); at !== -1; at = text.indexOf(ends, at + 1)) {
    const [state, , , , uid, , inode] = text.slice(at + ends.length + 1, at + ends.length + 100).split(/ +/)
    // A socket that its process has closed, or that is only waited for, has inode 0. Its user id is 0 too, which does not mean root.
    if (inode !== '0' && state !== synSent) return Number(uid)
  }
  return undefined
}

/** As in the table: words of 32 bits in the byte order of the machine. */
function toHex(address: string, table: TableName): string {
  const ipv4 = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const isShort = isIPv4(ipv4)
  const bytes = isShort ? ipv4.split('.').map(Number) : bytesOfIpv6(address)
  if (isShort && table === 'tcp6') bytes.unshift(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff)
  const words: number[][] = []
  for (let index = 0; index < bytes.length; index += 4) words.push(bytes.slice(index, index + 4))
  if (endianness() === 'LE') for (const word of words) word.reverse()
  return Buffer.from(words.flat()).toString('hex').toUpperCase()
}

function bytesOfIpv6(address: string): number[] {
  const [head = '', tail = ''] = address.split('::').map((part) => part.replace(/%.*$/, ''))
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groupsOf(head), groupsOf(tail)]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0)
  return [...first, ...zeros, ...last].flatMap((group) => [group >> 8, group & 0xff])
}
