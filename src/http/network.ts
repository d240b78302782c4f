import { isIP } from 'node:net'

/**
 * Returns the network of an address, for limits that one subscriber must not evade: the /64 of an IPv6 address, because
 * a subscriber owns a whole /64 (RFC 6177), and any other address itself.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [bare] = address.split('%', 1)
  const [before, after] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (part = '') => part.split(':').filter(group => group !== '')
  const [first, last] = [groupsOf(before), groupsOf(after)]
  const zeros = Array<string>(8 - first.length - last.length).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
