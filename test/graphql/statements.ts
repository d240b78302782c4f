import type { Pool } from '../../src/db/sql.ts'

export interface Statement {
  /** The name in the statement's leading comment, or else its text. */
  name: string
  text: string
  parameters: unknown[]
  types: number[]
}

export async function capture(pool: Pool, work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  pool.options.debug = (_connection, text, parameters, types) => {
    statements.push({ name: /\/\* (\S+) \*\//.exec(text)?.[1] ?? text, text, parameters, types })
  }
  try {
    await work()
  } finally {
    pool.options.debug = false
  }
  return statements
}

/** The names of the statements of background jobs (`src/background-jobs.ts`). */
export const ofJobs: readonly string[] = [
  ...['capture.find_missing', 'capture.repair', 'definition.read', 'full_pass.report_server_change'],
  ...['grants.find_missing', 'health.read_clock', 'health.read_state', 'migration.read', 'migration.table_exists'],
  ...['rate_window.delete_ended', 'record.check_some', 'redemption_token.delete_expired', 'token.save_use'],
  ...['request_count.delete_expired', 'request_count.save', 'request_error.save', 'session.delete_expired'],
  ...['signing_key.delete_former', 'signing_key.read', 'step.delete_passed_notes', 'step.make', 'step.make_quiet'],
  ...['step.read_completeness', 'step.read_state', 'webhook.delete_old_deliveries', 'webhook.hold_lease'],
]

/** The names of the statements whose results are cached for half a second: the tokens, and the paths of tenants. */
const cached = ['token.find', 'tenant.paths']

/** Returns the names of the statements, without those of background jobs and caches. */
export const namesOf = (statements: Statement[]) =>
  statements
    .map(statement => statement.name)
    .filter(name => ![...ofJobs, ...cached].includes(name))
    .sort()
