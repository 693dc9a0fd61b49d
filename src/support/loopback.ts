// Whether an address can be reached from this machine only.

/** An address that is not certainly loopback counts as one that other machines reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(host)
}
