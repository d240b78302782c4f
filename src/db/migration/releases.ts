import { readFileSync } from 'node:fs'

/** A release of the service. */
interface Release {
  version: string
  /** The version of the last migration of the release. */
  migration: number
  /** True when later releases require that this release has upgraded the database and has served it. */
  isStop: boolean
}

/** The releases, the oldest first. */
export const releases: readonly Release[] = JSON.parse(
  readFileSync(new URL('../../../sql/releases.json', import.meta.url), 'utf8'),
)

/**
 * Returns the newest release whose migrations a database has completely, or null when there is none.
 *
 * @param last the version of the database's last migration
 */
export const releaseOf = (last: number): string | null =>
  releases.findLast(({ migration }) => migration <= last)?.version ?? null

/**
 * Returns the releases between two migrations, the oldest first, and the releases among them that cannot be skipped.
 *
 * @param from the last migration of the database
 * @param to the last migration of this service's version, which is no stop
 */
export function releasesBetween(from: number, to: number): { releases: string[]; stops: string[] } {
  const passed = releases.filter(({ migration }) => from < migration && migration <= to)
  const stops = passed.filter(({ migration, isStop }) => isStop && migration < to)
  return { releases: passed.map(({ version }) => version), stops: stops.map(({ version }) => version) }
}
