/** Opens connections of the tests: with a role as the service does, without one as the application of a platform. */
import * as own from '../../src/db/connection/connect.ts'
import { afterFile } from './cleanups.ts'

export { addressUrl, type PoolOptions, serviceRole } from '../../src/db/connection/connect.ts'

/**
 * Opens a pool, which ends after the file's tests. Without a role, names without a schema are in `public`, as in the sessions of
 * most applications.
 */
export function connect(address: own.DatabaseAddress, options: own.PoolOptions) {
  const pool = own.connect(address, { ...(options.role === undefined && { searchPath: 'public' }), ...options })
  afterFile(() => pool.end({ timeout: 1 }))
  return pool
}
