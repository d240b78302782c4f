import type postgres from '#postgres'

/**
 * The types that the driver decodes: bigint and numeric as numbers (the tables allow only values that a number holds
 * exactly, R12, R14), timestamptz as R13 text with six fraction digits, date as `YYYY-MM-DD` text.
 */
export type DriverTypes = { bigint: number; numeric: number; timestamptz: string; date: string }

export type DriverPool = postgres.Sql<DriverTypes>

export type Pool = DriverPool & {
  /**
   * Returns an `Sql` that sends no more statements after the caller has disconnected.
   *
   * @param isWanted returns whether the caller still waits; otherwise a statement fails before it is sent
   */
  whileWanted(isWanted: () => boolean): Sql
  /**
   * Returns an `Sql` like `whileWanted` for an expensive request. Its statements have separate connections, which all
   * callers share evenly.
   *
   * @param caller the id of the caller's token
   */
  expensive(isWanted: () => boolean, caller: number): Sql
  /** Sends the statements of steps, on a connection of their own, so that steps never wait for another job. */
  steps: Sql
  /** Sends long statements for which no caller waits, one statement at a time. */
  background: Sql
  /** Sends the statements of bulk exports on separate connections, so that other requests do not wait for exports. */
  exports: Sql
  /**
   * Opens one connection outside the pool, for work that needs a session. After the connection is lost, each further
   * statement fails.
   *
   * @param limits the limits of the connection that differ from the limits of the pool
   * @returns the connection; close it with `end()`
   */
  openSession(limits?: { answerTimeoutMs?: number }): DriverPool
}

/** Sends statements: a pool, a connection or a transaction. */
export type Sql = postgres.ISql<DriverTypes>

/**
 * Sends statements that only read records, to a standby or to the primary. The other members of `Sql` are absent, so
 * that no code reads a token or writes through this type.
 */
export interface RecordSql {
  <Rows extends readonly (object | undefined)[] = postgres.Row[]>(
    template: TemplateStringsArray,
    ...values: readonly postgres.ParameterOrFragment<DriverTypes[keyof DriverTypes]>[]
  ): postgres.PendingQuery<Rows>
  unsafe(text: string): Fragment
}

/**
 * Sends the statements that read records: to a standby if there is one, otherwise to the primary (`record-pool.ts`).
 */
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
 * (but locks none), so a standby refuses the whole statement (25006). The condition is needed because a pooler can
 * route an open session to a standby.
 */
export const onPrimary = (sql: Sql): Fragment => sql`not exists (select from gateway.token where false for key share)`

/**
 * Runs work that needs a session, on a connection outside the pool. The connection is closed after the work, which
 * rolls an open transaction back.
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
