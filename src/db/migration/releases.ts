import { readFileSync } from 'node:fs'

/** A release of the service. */
interface Release {
  version: string
  /** The version of its last migration. */
  migration: number
  /** True when later releases upgrade only databases that this release has upgraded and served. */
  isStop: boolean
}

/** The releases, the oldest first. */
export const releases: readonly Release[] = JSON.parse(
  readFileSync(new URL('../../../sql/releases.json', import.meta.url), 'utf8'),
)

/** Returns the newest release of which a database has all migrations, or null. @param last its last migration */
export const releaseOf = (last: number): string | null =>
  releases.findLast(({ migration }) => migration <= last)?.version ?? null

/**
 * Returns the releases of an upgrade, the oldest first, and the releases that must run before the next release.
 *
 * @param from the last migration of the database
 * @param to the last migration of this version, which needs no stop
 */
export function releasesBetween(from: number, to: number): { releases: string[]; stops: string[] } {
  const passed = releases.filter(({ migration }) => from < migration && migration <= to)
  const stops = passed.filter(({ migration, isStop }) => isStop && migration < to)
  return { releases: passed.map(({ version }) => version), stops: stops.map(({ version }) => version) }
}
