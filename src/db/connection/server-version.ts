import { ReasonError, reason } from '../../reasons.ts'

/** The oldest version of PostgreSQL for the service and for a platform on another server: the tests use no older one. */
const oldest = 15

/**
 * Requires a version of PostgreSQL.
 *
 * @param variable the variable that names the server
 * @param version its `server_version_num`
 * @throws a ReasonError for an older one
 */
export function requireVersion(variable: 'DATABASE_URL' | 'PLATFORM_URL', version: number): void {
  const major = Math.floor(version / 10_000)
  if (major < oldest)
    throw new ReasonError(reason('POSTGRES_TOO_OLD', { variable, version: `${major}.${version % 10_000}`, oldest }))
}
