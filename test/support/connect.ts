/** Opens connections of the tests: with a role as the service does, without one as the application of a platform. */
import * as own from '../../src/db/connection/connect.ts'

export { addressUrl, type PoolOptions, serviceRole } from '../../src/db/connection/connect.ts'

/** Opens a pool. Without a role, names without a schema are in `public`, as in the sessions of most applications. */
export const connect = (address: own.DatabaseAddress, options: own.PoolOptions) =>
  own.connect(address, { ...(options.role === undefined && { searchPath: 'public' }), ...options })
