import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns the network of an address, for limits that one subscriber must not evade: the /64 of an IPv6 address, because
 * a subscriber owns a whole /64 (RFC 6177), and any other address itself.
 */
export const networkOf = (address: string): string =>
  isIP(address) === 6 ? ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString() : address
