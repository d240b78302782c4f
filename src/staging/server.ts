/** The server of a platform. */
import type { Sql } from '../db/sql.ts'

export interface Server {
  /** Its identity and its timeline: another server, and a standby that took over, have another name. */
  name: string
  /** As `server_version_num`. */
  version: number
}

/** Reads which server has the platform's database. */
export async function readServer(platform: Sql): Promise<Server> {
  const [server] = await platform<[Server]>`
    select /* platform.read_server */ system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as name,
           current_setting('server_version_num')::int as version
    from pg_control_system()`
  return server
}
