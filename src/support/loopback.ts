// Whether an address can be reached from this machine alone.

/** Anything that is not surely a loopback address is taken for one that other machines reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(host)
}
