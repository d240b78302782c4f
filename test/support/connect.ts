/** Opens connections for tests: with a role like the service, or without a role like the application of a platform. */
import * as own from '../../src/db/connection/connect.ts'
import { afterFile } from './cleanups.ts'

export { addressUrl, type PoolOptions, serviceRole } from '../../src/db/connection/connect.ts'

/**
 * Opens a pool, and ends it after the tests of the file. Without a role, names without a schema are in `public`, as in
 * the sessions of most applications.
 */
export function connect(address: own.DatabaseAddress, options: own.PoolOptions) {
  const pool = own.connect(address, { ...(options.role === undefined && { searchPath: 'public' }), ...options })
  afterFile(() => pool.end({ timeout: 1 }))
  return pool
}
