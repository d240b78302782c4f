/** Finds the addresses of receivers, and refuses the addresses of private networks (OWASP API7:2023). */
import dns, { type LookupAddress } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The error for an address to which the service must not connect. */
class AddressNotAllowedError extends Error {
  readonly code = 'ADDRESS_NOT_ALLOWED'
}

type IsAllowed = (address: string) => boolean

/**
 * Returns a function that tells whether an address is allowed: public addresses are, and the addresses of the given
 * networks. IPv6 addresses that contain another address (IPv4-mapped, NAT64, 6to4, Teredo) are not public.
 *
 * @param networks addresses and CIDR ranges
 */
export function createIsAllowed(networks: readonly string[]): IsAllowed {
  const allowed = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = familyOf(address)
    if (prefix === undefined) allowed.addAddress(address, family)
    else allowed.addSubnet(address, Number(prefix), family)
  }
  // A scope in an address (`fe80::1%eth0`) names an interface of this machine.
  return address =>
    isIP(address) !== 0 && (allowed.check(address, familyOf(address)) || ipaddr.parse(address).range() === 'unicast')
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/**
 * Returns the `lookup` function of a connection. The connection looks the name up only once, so it connects to a
 * checked address. A name is refused when one of its addresses is refused.
 *
 * @param lookup returns the addresses of a name
 */
export const createAllowedLookup =
  (isAllowed: IsAllowed, lookup: typeof dns.lookup = dns.lookup): LookupFunction =>
  (name, options, done) =>
    lookup(name, { ...options, all: true }, (error, found: LookupAddress[] | undefined) => {
      const [first] = found ?? []
      if (error || !first) return done(error ?? new Error('The name has no address.'), [])
      if (!found?.every(({ address }) => isAllowed(address))) return done(new AddressNotAllowedError(), [])
      return options.all ? done(null, found) : done(null, first.address, first.family)
    })

/**
 * Returns the error when the host of a URL is a refused address. Returns null for an allowed address, and for a name,
 * which is checked when it is looked up.
 */
export function findAddressProblem(url: string, isAllowed: IsAllowed): string | null {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 || isAllowed(host) ? null : 'ADDRESS_NOT_ALLOWED'
}
