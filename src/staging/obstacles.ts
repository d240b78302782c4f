/** Finds the obstacles to a replication: tests each right and setting that `apply` needs, and changes nothing. */
import type { Finding } from '../adoption/check.ts'
import { codeOf } from '../db/connection/outage.ts'
import { inSession, type Pool, type Sql } from '../db/sql.ts'
import { type PlatformTable, pathOf } from './platform-tables.ts'
import { findSurplusTables, planPublication } from './publication.ts'
import { createSubscription, subscriptionName } from './subscription.ts'

interface StagedPlatform {
  owner: Pool
  platform: Sql
  platformUrl: string
  /** The name of the publication. */
  name: string
  tables: readonly PlatformTable[]
}

/** Finds the obstacles to `apply`, each with its remedy. */
export async function findObstacles(staged: StagedPlatform): Promise<Finding[]> {
  const { platform, name, tables } = staged
  const surplus = await findSurplusTables(platform, name, tables)
  const statements = await planPublication(platform, name, tables)
  const found = await platform<{ problem: string; remedy: string }[]>`
    select /* platform.find_obstacles */ problem, remedy
    from (
      select current_setting('wal_level') as level, current_setting('max_replication_slots')::int as slots,
             current_setting('server_version_num')::int as version, own.* from pg_roles own where rolname = current_user
    ) server, lateral (values
      (level = 'minimal' or level = 'replica' and version < 190000, format('The server of the platform has wal_level = %s', level),
       'Let a superuser of the platform run, and restart the server: alter system set wal_level = logical;'),
      (slots <= (select count(*) from pg_replication_slots where not starts_with(slot_name, ${`${name}_`})),
       format('All %s replication slots of the platform are in use', slots),
       format('Let a superuser of the platform run, and restart the server: alter system set max_replication_slots = %s;', slots + 2)),
      (not (rolsuper or rolreplication or exists (
         select from pg_roles held where held.rolname = 'rds_replication' and pg_has_role(server.oid, held.oid, 'usage'))),
       format('The login %I may not replicate', rolname),
       format('Let a superuser of the platform run: alter role %I replication;', rolname)),
      (${statements.join(' ')} <> '' and not (
         coalesce((select pg_has_role(pubowner, 'usage') from pg_publication where pubname = ${name}),
                  has_database_privilege(current_database(), 'create'))
         and not exists (
           select from json_array_elements_text(${JSON.stringify(tables.map(pathOf))}::text::json) path
           join pg_class on pg_class.oid = to_regclass(path) where not pg_has_role(relowner, 'usage'))),
       format('The login %I may not publish the tables', rolname),
       'Let the owner of the tables, or a superuser, run at the platform: ' || ${statements.join(' ')})
    ) found (holds, problem, remedy) where holds`
  if (surplus?.isForbidden) found.push({ problem: surplus.reason.message, remedy: surplus.reason.action })
  const refused = found.map(one => ({ file: 'PLATFORM_URL', ...one }))
  // After an obstacle there is no trial, because the gateway's server would fail for the same reason.
  const all = refused.length > 0 ? refused : await trySubscription(staged)
  return all.map(one => ({ line: null, level: 'error', keys: [], ...one }))
}

/** Subscribes in a transaction that is rolled back, so that the server of the gateway connects to the platform. */
async function trySubscription({ owner, platformUrl, name }: StagedPlatform) {
  try {
    await inSession(owner, async session => {
      await session.unsafe('begin /* staging.begin_trial */')
      // The trial uses a publication that does not exist, so that the subscription has no tables.
      const trial = { name: `${subscriptionName}_trial`, publication: `${name}_trial` }
      await createSubscription(session, { ...trial, platformUrl, options: 'enabled = false, slot_name = none' })
    })
    return []
  } catch (error) {
    const [right] = await owner<[{ statements: string }]>`
      select /* staging.find_right */ case when current_setting('server_version_num')::int < 160000
        then format('alter role %I superuser;', current_user)
        else format('grant pg_create_subscription to %1$I; grant create on database %2$I to %1$I;', current_user, current_database())
        end as statements`
    const problem = `The database of the gateway cannot subscribe: ${error instanceof Error ? error.message : error}`
    const remedy =
      codeOf(error) === '42501'
        ? `Let a superuser of the gateway's database run: ${right.statements}`
        : 'Its server connects to the platform itself, without a pooler: it needs an address that it can reach, the password in the URL, and the files that the URL names'
    return [{ file: 'DATABASE_URL', problem, remedy }]
  }
}
