/** Finds environment variables whose names the service does not know, but which were probably meant for the service. */
import { reason } from '../reasons.ts'

/**
 * The prefixes of names that only this service uses. `REDIS_` and `DATABASE_` are absent, because many programs use
 * them.
 */
const ownVariablePrefixes = /^(CURSOR|EXPORTS|GRAPHQL|OIDC|RATE|REDEMPTION|SHUTDOWN|TRUST)_/

/** The names of the variables that Docker and Kubernetes set for each of their services. */
const serviceLink = /_(SERVICE_(HOST|PORT)|PORT)(_\w+)?$/

/**
 * Returns whether Kubernetes or Docker set a variable of the service for another service:
 * METRICS_PORT=tcp://10.0.0.1:9464 for a service "metrics".
 */
export const isServiceLink = (name: string, value: string): boolean =>
  name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)

/**
 * The minimum length of a name for which a similar name is looked for, because a shorter name resembles too many names.
 */
const minLetters = 6

/** Returns whether two names differ only in case, in underscores, in one letter, or in the order of two letters. */
function isTypo(name: string, known: string): boolean {
  const [given, meant] = [name, known].map(text => text.toUpperCase().replaceAll('_', '')) as [string, string]
  if (Math.min(given.length, meant.length) < minLetters) return false
  let start = 0
  while (start < given.length && given[start] === meant[start]) start++
  let end = 0
  while (end < Math.min(given.length, meant.length) - start && given.at(-1 - end) === meant.at(-1 - end)) end++
  const [left, right] = [given.slice(start, given.length - end), meant.slice(start, meant.length - end)]
  return Math.max(left.length, right.length) <= 1 || (left.length === 2 && left === [...right].reverse().join(''))
}

/** Returns the error of an unknown variable. @param similar the names that were probably meant */
export const unknownVariable = (variable: string, similar: readonly string[]) =>
  reason('CONFIG_UNKNOWN', {
    variable,
    advice: similar.length > 0 ? `Did you mean ${similar.join(' or ')}?` : '.env.example has the names of all.',
  })

/**
 * Returns the variables that an unknown name probably means: a variable with a typing error, the first words of a
 * variable, a variable with an addition (`DATABASE_URL_FILE`), or else the whole family of variables.
 *
 * @param known the names of all variables
 * @param unset the variables without a value: if `DATABASE_URL` is set, `DATABASE_URL_UNPOOLED` belongs to another
 * program
 * @returns an empty list when the variable probably belongs to another program
 */
export function similarNames(name: string, known: readonly string[], unset = known): string[] {
  const near = known.filter(each => isTypo(name, each) || (name.includes('_') && each.startsWith(`${name}_`)))
  if (near.length > 0 || serviceLink.test(name)) return near
  const begun = unset.filter(each => each.includes('_') && name.startsWith(`${each}_`))
  const family = ownVariablePrefixes.exec(name)?.[0]
  return begun.length > 0 || family === undefined ? begun : known.filter(each => each.startsWith(family))
}
