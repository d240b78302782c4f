// Reads the metadata of the OpenID provider, and classifies failures of the provider.
import * as client from 'openid-client'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { codeOf } from '../db/connection/outage.ts'
import { GatewayError } from '../domain/errors.ts'
import { withTraceparent } from '../tracing.ts'
import { fetchBounded } from './bounded-fetch.ts'

/** The tolerated difference between the provider's clock and ours, in seconds. */
export const clockSkew = 300

const maxAnswerBytes = 1_000_000

/**
 * Reads the provider's metadata (OpenID Connect Discovery), with its present keys: an ID token signed with a rotated
 * key is accepted. The issuer may be configured with or without its last slash.
 *
 * @throws errors of openid-client
 */
export function discoverProvider({ issuer, clientId, clientSecret }: NonNullable<Config['openId']>) {
  const metadata = { client_secret: clientSecret, [client.clockTolerance]: clockSkew }
  const options = {
    timeout: 5,
    // Forms are the only bodies that are sent to a provider.
    [client.customFetch]: (address: string, { body, signal, ...init }: client.CustomFetchOptions) => {
      const form = body instanceof URLSearchParams ? body : null
      const headers = withTraceparent(init.headers)
      return fetchBounded(maxAnswerBytes, address, { ...init, headers, body: form, signal: signal ?? null })
    },
    execute: [
      client.enableNonRepudiationChecks,
      // Plain http is allowed here, because the configuration accepts it only for this machine.
      ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  }
  const discover = (address: string) => client.discovery(new URL(address), clientId, metadata, undefined, options)
  const { href } = issuer
  return discover(href).catch(error => {
    if (failureKindOf(error) !== 'invalid') throw error
    return discover(href.endsWith('/') ? href.slice(0, -1) : `${href}/`)
  })
}

/**
 * The error codes of connections that fail until an operator changes something: a certificate is not trusted, or a host
 * name does not exist.
 */
const permanentErrorCodes = /^(CERT_|ERR_TLS_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)|_SIGNATURE$|^ENOTFOUND$/

/**
 * Returns the kind of a failure. `invalid`: the provider rejected the sign-in, or the signature, the time or the
 * audience of its response is wrong. `temporary`: the provider did not answer in time, or answered with 429, a 5xx
 * status or `temporarily_unavailable`. `refused`: every sign-in fails.
 */
export function failureKindOf(error: unknown): 'invalid' | 'temporary' | 'refused' {
  if (error instanceof client.AuthorizationResponseError) return isUnavailable(error) ? 'temporary' : 'invalid'
  if (error instanceof client.ResponseBodyError) {
    if (error.status === 429 || isUnavailable(error)) return 'temporary'
    return error.error === 'invalid_grant' ? 'invalid' : 'refused'
  }
  if (error instanceof TypeError)
    return 'code' in error || permanentErrorCodes.test(codeOf(error.cause)) ? 'refused' : 'temporary'
  if (!(error instanceof client.ClientError)) return 'refused'
  const { code, cause } = error
  if (cause instanceof Response) return cause.status === 429 || cause.status >= 500 ? 'temporary' : 'refused'
  if (code === 'OAUTH_TIMEOUT') return 'temporary'
  // An error without a code comes from `fetchBounded`.
  return code === undefined || code === 'OAUTH_UNSUPPORTED_OPERATION' || UnlistedAlgorithm.safeParse(cause).success
    ? 'refused'
    : 'invalid'
}

const isUnavailable = ({ error }: { error: string }) => error === 'temporarily_unavailable'

/** The cause that oauth4webapi reports when the metadata does not list the algorithm of an ID token. */
const UnlistedAlgorithm = z.object({ cause: z.object({ header: z.object({}), reason: z.string() }) })

/**
 * Returns the error to show to a person. It advises the person to try again only when that can help.
 *
 * @param cause an error of openid-client
 */
export function toProviderError(cause: unknown): GatewayError {
  const sentence = (what: string, advice: string) => `The sign-in of your organisation is not ${what}. ${advice}`
  if (failureKindOf(cause) === 'temporary') {
    const message = sentence('available', 'Try again in a moment, or sign in with a password.')
    return new GatewayError('UNAVAILABLE', message, { retryAfter: 30, cause })
  }
  const advice = 'Sign in with a password. The operator finds the cause with `voucher-gateway doctor`.'
  return new GatewayError('INTERNAL', sentence('set up correctly', advice), { cause })
}
