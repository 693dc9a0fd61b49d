// Follows the address of the page, and leads to another.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { parseAddress, type Address } from './address.ts'

export function useAddress<View extends string>(views: readonly [View, ...View[]]): Address<View> {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = () => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return useMemo(() => parseAddress(hash, views), [hash])
}

/** @param isTyped a step that "back" passes over */
export function go(address: string, isTyped = false): void {
  if (address === (location.hash === '' ? '#' : location.hash)) return
  if (!isTyped) {
    location.hash = address
    return
  }
  history.replaceState(null, '', address)
  dispatchEvent(new Event('hashchange'))
}
