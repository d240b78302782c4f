import { ReasonError, reason } from '../../reasons.ts'

/**
 * The oldest supported version of PostgreSQL, for the service and for a platform on another server. No older version is
 * tested.
 */
const oldestVersion = 15

/**
 * Requires a supported version of PostgreSQL.
 *
 * @param variable the environment variable with the URL of the server
 * @param version its `server_version_num`
 * @throws a ReasonError for an older one
 */
export function requireVersion(variable: 'DATABASE_URL' | 'PLATFORM_URL', version: number): void {
  const major = Math.floor(version / 10_000)
  if (major < oldestVersion)
    throw new ReasonError(
      reason('POSTGRES_TOO_OLD', { variable, version: `${major}.${version % 10_000}`, oldest: oldestVersion }),
    )
}
