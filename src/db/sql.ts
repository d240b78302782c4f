import type postgres from '#postgres'

/**
 * The types that the driver decodes: bigint and numeric as numbers (the tables allow only values that a number holds
 * exactly, R12, R14), timestamptz as R13 text with six fraction digits, date as `YYYY-MM-DD` text.
 */
export type DriverTypes = { bigint: number; numeric: number; timestamptz: string; date: string }

export type DriverPool = postgres.Sql<DriverTypes>

export type Pool = DriverPool & {
  /**
   * Returns an `Sql` for the statements of a caller, who may disconnect.
   *
   * @param isWanted whether the caller still waits; a statement fails unsent when the caller is gone
   */
  whileWanted(isWanted: () => boolean): Sql
  /**
   * Returns an `Sql` like `whileWanted` for an expensive request, on separate connections, which callers share evenly.
   *
   * @param caller the id of the caller's token
   */
  expensive(isWanted: () => boolean, caller: number): Sql
  /** Sends the statements of steps, which must wait for no other job. */
  steps: Sql
  /** Sends statements for which no caller waits and which may take long, one after another. */
  background: Sql
  /** Sends the statements of bulk exports, which must not take the connections of other requests. */
  exports: Sql
  /**
   * Opens one connection outside the pool, for work that needs a session. After it is lost, each further statement fails.
   *
   * @param limits the limits that differ from the limits of the pool
   * @returns the connection; close it with `end()`
   */
  openSession(limits?: { answerTimeoutMs?: number }): DriverPool
}

/** A pool or a transaction, through which statements run. */
export type Sql = postgres.ISql<DriverTypes>

/**
 * Sends statements that only read records, to a standby or to the primary. It lacks the rest of `Sql`, so it cannot read a
 * token, or write.
 */
export interface RecordSql {
  <Rows extends readonly (object | undefined)[] = postgres.Row[]>(
    template: TemplateStringsArray,
    ...values: readonly postgres.ParameterOrFragment<DriverTypes[keyof DriverTypes]>[]
  ): postgres.PendingQuery<Rows>
  unsafe(text: string): Fragment
}

/** The connections on which records are read: to the primary, and to standbys if there are any (`record-pool.ts`). */
export interface RecordPool {
  whileWanted(isWanted: () => boolean): RecordSql
  expensive(isWanted: () => boolean, caller: number): RecordSql
  readonly exports: RecordSql
}

/** An open transaction, which can have savepoints. */
export type Transaction = postgres.TransactionSql<DriverTypes>

export type Fragment = postgres.Fragment

/**
 * Returns a condition that is always true, but that only a primary can run. It contains a subquery that could lock rows
 * (but locks none), so a standby refuses the whole statement (25006). This matters because a pooler can lead an open
 * session to a standby.
 */
export const onPrimary = (sql: Sql): Fragment => sql`not exists (select from gateway.token where false for key share)`

/**
 * Runs work that needs a session, on a connection outside the pool. The connection ends after the work, and an open
 * transaction with it.
 *
 * @throws the error of the work
 */
export const inSession = <Result>(pool: Pool, work: (session: DriverPool) => Promise<Result>): Promise<Result> => {
  const session = pool.openSession()
  return work(session).finally(() => session.end({ timeout: 1 }))
}

/** Returns the PostgreSQL array literal; the caller must cast it: `any(${arrayText(ids)}::text::bigint[])`. */
export const arrayText = (values: readonly (number | string | boolean | null)[]): string =>
  `{${values.map(value => (typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : `${value}`)).join(',')}}`
