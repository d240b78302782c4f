/**
 * @param host the address on which the service listens, as `HOST` gives it
 * @returns the origin at which this machine reaches the service
 */
export function originOf(host: string, port: number): string {
  // The unspecified address, in any notation: the service listens on all addresses.
  if (/^[0.:]+$/.test(host)) return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
