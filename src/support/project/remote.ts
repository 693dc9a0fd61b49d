// The address of a remote repository, without secrets, and the name in it.

/**
 * Without credentials: user and password are removed from web addresses, where either may be a token, the password from others.
 * Undefined for an address that Git would run as a command (`ext::...`), since that can contain anything.
 */
export function toShownRemote(address: string): string | undefined {
  if (/^[\w+.-]+::/.test(address) || address.length > 2000) return undefined
  const [, scheme, authority = '', rest = ''] = /^([a-z][\w+.-]*):\/\/([^/?#]*)(.*)$/is.exec(address) ?? []
  // user@host:path of SSH, or a path: neither has a place for a password.
  if (scheme === undefined) return address
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  const [user = ''] = authority.slice(0, Math.max(at, 0)).split(':')
  const isShell = /^(?:git\+)?ssh(?:\+git)?$/i.test(scheme)
  return `${scheme}://${isShell && user !== '' ? `${user}@` : ''}${host}${rest.replace(/[?#].*$/s, '')}`
}

/** The last part of the path, without `.git`. */
export function nameOfRemote(remote: string): string | undefined {
  return /([^/:\\]+?)(?:\.git)?[/\\]*$/.exec(remote)?.[1]
}
