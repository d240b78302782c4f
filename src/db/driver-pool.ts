import type postgres from '#postgres'

/**
 * The types that the driver decodes: bigint and numeric as numbers (the tables allow only values that a number holds
 * exactly, R12, R14), timestamptz as R13 text with six fraction digits, date as `YYYY-MM-DD` text.
 */
export type DriverTypes = { bigint: number; numeric: number; timestamptz: string; date: string }

/** A pool of connections, as the driver makes it. */
export type DriverPool = postgres.Sql<DriverTypes>
