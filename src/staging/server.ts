import { connect, type PoolOptions } from '../db/connection/connect.ts'
import { codeOf, isOutage } from '../db/connection/outage.ts'
import { requireVersion } from '../db/connection/server-version.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { ReasonError, reason } from '../reasons.ts'

/**
 * Settings whose defaults the platform may have changed for the login. With `jit`, queries of the catalog would take
 * seconds.
 */
const sessionSettings = {
  jit: 'off',
  default_transaction_read_only: 'off',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/** Opens a pool of connections to the database of a platform. */
export const connectPlatform = (platformUrl: string, options: PoolOptions) =>
  connect(platformUrl, { ...options, settings: sessionSettings })

/** Runs work on one connection to the database of a platform, and ends the connection afterwards. */
export const withPlatform = <Result>(
  platformUrl: string,
  options: Omit<PoolOptions, 'max'>,
  work: (platform: Pool) => Promise<Result>,
): Promise<Result> => {
  const platform = connectPlatform(platformUrl, { ...options, max: 1 })
  return work(platform).finally(() => platform.end({ timeout: 1 }))
}

/** Throws when a pool cannot reach the database of a platform. @throws a ReasonError that names `PLATFORM_URL` */
export async function requirePlatform(platform: Sql): Promise<void> {
  try {
    await platform`select /* platform.reach */`
  } catch (error) {
    if (!isOutage(error)) throw error
    const why = (error instanceof Error && error.message) || codeOf(error)
    throw new ReasonError(reason('PLATFORM_UNREACHABLE', { error: why }), { cause: error })
  }
}

export interface Server {
  /**
   * The system identifier and the timeline of the server. Another server has another identifier, a promoted standby
   * another timeline.
   */
  name: string
  /** The `server_version_num` of the server. */
  version: number
}

/** Reads the identity of the platform's server. @throws a ReasonError when its version is too old */
export async function readServer(platform: Sql): Promise<Server> {
  const [server] = await platform<[Server]>`
    select /* platform.read_server */ system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as name,
           current_setting('server_version_num')::int as version
    from pg_control_system()`
  requireVersion('PLATFORM_URL', server.version)
  return server
}
