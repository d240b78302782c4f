import { isIP, SocketAddress } from 'node:net'
import { compile } from '@fastify/proxy-addr'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/**
 * Reads an address in the formats in which proxies forward it (RFC 7239 §6): IPv6 in brackets, with a port, in
 * quotation marks, or IPv4 that is mapped into IPv6.
 *
 * @returns the address in its canonical form; null for other text, such as `unknown`
 */
function readAddress(text: string): string | null {
  const bare = text.replaceAll('"', '').replace(/^(?:\[(.*)\]|([\d.]+))(?::\w+)?$/, '$1$2')
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : null
  return new SocketAddress({ address: bare, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/, '')
}

/**
 * Makes Fastify's option `trustProxy`.
 *
 * @param ranges addresses and CIDR ranges
 * @returns a function that tells whether an address, in any format, is in one of the ranges
 */
export function createProxyTest(ranges: readonly string[]): (text: string) => boolean {
  const isTrusted = compile([...ranges])
  return text => {
    const address = readAddress(text)
    return address !== null && isTrusted(address, 0)
  }
}

/**
 * The time before which a log gets no further warning, in milliseconds of `performance.now()`. Warnings are limited,
 * because any client can send the header.
 */
const silentUntil = new WeakMap<FastifyBaseLogger, number>()

function warn(log: FastifyBaseLogger, proxy: string, forwarded: unknown, message: string): void {
  const now = performance.now()
  if (now < (silentUntil.get(log) ?? 0)) return
  silentUntil.set(log, now + 60_000)
  log.warn({ address: proxy, forwarded }, `${message}: all callers behind it share its address, and so their limits`)
}

/**
 * Returns the address of the client: the address of the socket, or the address that a trusted proxy forwards (R30). If
 * the proxy forwards no address, returns the address of the proxy. A warning, at most once a minute, names a proxy that
 * hides its clients.
 */
export function clientAddress(request: FastifyRequest): string {
  // `request.ips` is read once, because Fastify parses the forwarded addresses at each access. The nearest address,
  // which is the address of the socket, comes first.
  const { ips = [request.ip], headers, log } = request
  const address = readAddress(ips.at(-1) ?? '')
  const proxy = address ?? readAddress(ips.at(-2) ?? '') ?? ''
  if (address === null) warn(log, proxy, ips.at(-1), 'a trusted proxy forwards no address of its client')
  const ignored = ips.length === 1 ? headers['x-forwarded-for'] : undefined
  if (ignored !== undefined) warn(log, proxy, ignored, 'TRUST_PROXY does not name a proxy that forwards addresses')
  return proxy
}

/**
 * Returns the network of an address, for limits that one subscriber must not evade: the /64 of an IPv6 address, because
 * a subscriber owns a whole /64 (RFC 6177), and any other address itself.
 */
export const networkOf = (address: string): string =>
  isIP(address) === 6 ? ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString() : address
