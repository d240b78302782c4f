/** Describes endpoints and deliveries in words, for pages and commands. */
import type { Delivery } from '../domain/event/delivery.ts'
import type { Endpoint } from '../domain/event/endpoint.ts'

/**
 * The lag in seconds below which an endpoint counts as up to date. It is longer than the ten seconds between two saves
 * of the progress.
 */
const inStepLag = 20

/** Returns the lag of an endpoint in words. */
export function describeLag({ lag }: Pick<Endpoint, 'lag'>): string {
  if (lag < inStepLag) return 'in step'
  if (lag < 120) return `${lag} seconds behind`
  if (lag < 2 * 3600) return `${Math.floor(lag / 60)} minutes behind`
  return lag < 2 * 86_400 ? `${Math.floor(lag / 3600)} hours behind` : `${Math.floor(lag / 86_400)} days behind`
}

const dnsProblem = 'The host of the URL has no address: correct the URL, or the DNS of the receiver.'
const unreachable = 'The receiver cannot be reached: let its operator look at its network and its firewall.'

/** The remedies when the endpoint did not answer, by the code of the error. */
const errorRemedies: Readonly<Record<string, string>> = {
  TIMEOUT: 'No answer in 15 seconds: let the receiver answer first, and then work.',
  ADDRESS_NOT_ALLOWED: 'The host has an address that is not public: use a public one, or allow it in WEBHOOK_NETWORKS.',
  ENOTFOUND: dnsProblem,
  EAI_AGAIN: 'The DNS does not answer: check the resolver of this service.',
  ECONNREFUSED: 'Nothing listens at that address and port: start the receiver, or correct the URL.',
  ECONNRESET: 'The receiver closed the connection without an answer: its log, or the log of its proxy, says why.',
  ETIMEDOUT: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  CERT_HAS_EXPIRED: 'The certificate of the receiver has expired: let its operator renew it.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the receiver is for another host: correct the URL, or the certificate.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'The receiver does not send its intermediate certificates: let its operator add them.',
}

/** The remedies when the endpoint answered with a status that is not a success, by status. */
const statusRemedies: Readonly<Record<number, string>> = {
  401: 'The receiver wants a sign-in: let it check the signature instead.',
  403: 'The receiver refuses the request: let it check the signature with the secret of this webhook.',
  404: 'The receiver does not know the path of the URL: correct the URL.',
  405: 'The receiver takes no POST at this URL: correct the URL.',
  410: 'The receiver wants no more events.',
  429: 'The receiver gets too many requests: later changes join the waiting ones.',
}

/** Returns whether a delivery succeeded. */
export const isDelivered = ({ status }: Pick<Delivery, 'status'>): boolean =>
  status !== null && status >= 200 && status < 300

/** Returns the outcome of a delivery in words, and the remedy of a failure. */
export function describeOutcome({ status, error }: Pick<Delivery, 'status' | 'error'>): string {
  if (status === null) {
    const code = error ?? 'unknown'
    const isCertificate = /CERT|SELF_SIGNED|ISSUER/.test(code)
    const otherwise = isCertificate
      ? 'The certificate of the receiver is of no public authority: use one that is, or name it in NODE_EXTRA_CA_CERTS.'
      : 'The connection failed: let the operator of the receiver look at its log.'
    return `${errorRemedies[code] ?? otherwise} (${code})`
  }
  if (isDelivered({ status })) return `Delivered. (${status})`
  const redirects = status >= 300 && status < 400
  const otherwise = redirects
    ? 'Redirects are not followed: use the URL to which it leads.'
    : 'The receiver answered with an error: its log says why.'
  return `${statusRemedies[status] ?? otherwise} (${status})`
}
