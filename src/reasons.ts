/** The closed list of reasons: what is wrong with a start, with the service while it runs, or with its database. */

/** `error`: requests, or changes of records, do not get what they need. `warning`: this may follow. */
type Level = 'error' | 'warning'

/** What is wrong, and what to do. A caller of `/readyz` may read both, so they have no secret and no value of a record. */
export interface Reason {
  code: ReasonCode
  level: Level
  message: string
  /** A statement of SQL follows a colon, and ends the text. */
  action: string
}

/** Each code with its level, its message and its action. A name in braces stands for a fact. */
export const reasonList = {
  CONFIG_INVALID: ['error', '{variable} {problem}.', 'Correct it: .env.example explains each variable.'],
  CONFIG_UNKNOWN: ['error', '{variable} is not a variable of this service.', '{advice}'],
  ENV_FILE_INVALID: [
    'error',
    '{place}: expected NAME=value, for example PORT=8080, or a comment after #.',
    'Put a value with # or a quotation mark in quotes.',
  ],
  ENV_FILE_REPEATED: ['error', '{place}: {variable} is set twice.', 'Remove one of the two lines.'],
  ENV_FILE_UNREADABLE: ['error', '{file} cannot be read: {why}.', 'Make the file readable, or remove it.'],
  DOCUMENT_INVALID: ['error', '{place}: {problem}', 'Correct it, or change GRAPHQL_DOCUMENTS_PATH.'],
  FILES_TOO_FEW: [
    'error',
    'This process may have {limit} files open, and needs {needed} {use}.',
    'Raise the limit, for example with ulimit -n 4096 or LimitNOFILE=4096.',
  ],
  HEAP_TOO_SMALL: [
    'error',
    'This process may have a heap of {limit} MiB, and needs {needed} {use}.',
    'Raise the limit, for example with NODE_OPTIONS=--max-old-space-size=512, or the memory of the container.',
  ],
  PORT_IN_USE: [
    'error',
    'Cannot listen with HOST={host} and {variable}={port} ({error}).',
    'Another program listens on that port. Stop it, or choose another port, for example {example}',
  ],
  PORT_FORBIDDEN: [
    'error',
    'Cannot listen with HOST={host} and {variable}={port} ({error}).',
    'This user may not use that port. Set {variable} to 1024 or higher, for example {variable}=8080.',
  ],
  HOST_INVALID: [
    'error',
    'Cannot listen with HOST={host} and {variable}={port} ({error}).',
    'HOST must be an address of this machine, for example HOST=127.0.0.1, or HOST=0.0.0.0 for all of its addresses.',
  ],
  DATA_DIR_UNUSABLE: [
    'error',
    'The data directory DATA_DIR={directory} cannot be used: {why}.',
    'Set DATA_DIR to a directory that this user can write to, or DATABASE_URL to your own PostgreSQL server.',
  ],
  DATA_DIR_UNRELEASED: [
    'error',
    'The database in the data directory {directory} was made by an unreleased version of this service and cannot be upgraded.',
    'Delete that directory, with all data in it, and run this command again.',
  ],
  DRIVER_NOT_PATCHED: [
    'error',
    'The database driver in {directory} is not the patched one that this version needs: it can give a request the rows of another.',
    'Build the service again (npm ci && npm run build), or install the package again.',
  ],
  DATABASE_UNREACHABLE: [
    'error',
    'The database that DATABASE_URL names ({target}) cannot be used: {why}.',
    'Start that server, or correct DATABASE_URL, for example postgres://user:password@host:5432/database.',
  ],
  DATABASE_LOGIN_REFUSED: [
    'error',
    'The database that DATABASE_URL names ({target}) cannot be used: {why}.',
    'Correct the user name and the password in DATABASE_URL, for example postgres://user:password@host:5432/database.',
  ],
  DATABASE_NOT_FOUND: [
    'error',
    'The database that DATABASE_URL names ({target}) cannot be used: {why}.',
    'Create that database, or correct its name in DATABASE_URL, for example postgres://user:password@host:5432/database.',
  ],
  DATABASE_PARAMETERS_REFUSED: [
    'error',
    'The database that DATABASE_URL names ({target}) cannot be used: {why}.',
    'A pooler that takes no start-up parameters needs DATABASE_STARTUP_PARAMETERS=off and the configuration in docs/scaling.md. Otherwise correct DATABASE_URL, for example postgres://user:password@host:5432/database.',
  ],
  DATABASE_UNRELEASED: [
    'error',
    'The database that DATABASE_URL names was made by an unreleased version of this service and cannot be upgraded.',
    'Create an empty one, name it in DATABASE_URL, and run: {migrate}. Then let the platform fill it, or load demo data with: {demo}.',
  ],
  DATABASE_NOT_UTF8: [
    'error',
    'The database has the encoding {encoding}, in which some texts cannot be stored. It must be UTF8.',
    "Create another one, and set DATABASE_URL to it: create database gateway encoding 'UTF8' locale 'C' template template0;",
  ],
  DATABASE_FAILED: ['error', 'The database cannot be used ({error}).', 'The log has the error.'],
  DATABASE_SILENT: [
    'error',
    'The database did not answer within a second.',
    'Look at its load, at its locks, and at the network.',
  ],
  DATABASE_STANDBY: ['error', 'The database is a standby.', 'Set DATABASE_URL to its primary.'],
  DATABASE_READ_ONLY: [
    'error',
    'The database takes no writes: it is read-only.',
    'Set default_transaction_read_only to off for it and for the login, or set DATABASE_URL to the primary.',
  ],
  DATABASE_ROUTED: [
    'error',
    'Something between, such as Pgpool-II, leads reads to a standby.',
    'Set DATABASE_URL to the primary itself, and DATABASE_REPLICA_URLS to the standbys, or to what leads to them.',
  ],
  STANDBY_UNREACHABLE: [
    'warning',
    'Standby {standby} of DATABASE_REPLICA_URLS does not answer within half a second.',
    'Start that server, or correct its address. The log has the error.',
  ],
  STANDBY_LATE: [
    'warning',
    'Standby {standby} of DATABASE_REPLICA_URLS is late.',
    'Look at its replay: whether it is paused or delayed, and which statements hold it up.',
  ],
  STANDBY_PROMOTED: [
    'warning',
    'Standby {standby} of DATABASE_REPLICA_URLS takes writes: it was promoted, or is no standby.',
    'Let it follow the primary, or remove its address.',
  ],
  STANDBY_REPLACED: [
    'warning',
    'Standby {standby} of DATABASE_REPLICA_URLS follows a server that the primary has replaced.',
    'Let it follow the primary, or remove its address.',
  ],
  SESSION_DROPS_PARAMETERS: [
    'error',
    'A database session of the service is not as it must be: {problems}.',
    'Something between, such as PgBouncer with ignore_startup_parameters, drops the start-up parameters. Set them at the pooler, and DATABASE_STARTUP_PARAMETERS=off; docs/scaling.md has the configuration.',
  ],
  SESSION_LACKS_SETTINGS: [
    'error',
    'A database session of the service is not as it must be: {problems}.',
    'DATABASE_STARTUP_PARAMETERS is off, so the pooler (connect_query of PgBouncer) or the login (alter role … set) has to set them; docs/scaling.md has the configuration.',
  ],
  LOGIN_CHANGES_AUDIT: [
    'error',
    'The login {login} may change the audit, which a pooler that loses the role would let the service do.',
    'Use a login without rights of its own: create role gateway_login login in role voucher_gateway;',
  ],
  PGBOUNCER_FORGETS_STATEMENTS: [
    'error',
    'PgBouncer keeps no prepared statements.',
    'Set max_prepared_statements = 500 in its configuration.',
  ],
  ROLE_MISSING: [
    'error',
    'The role voucher_gateway does not exist yet.',
    'The owner of the schema has to apply the migrations: {migrate}',
  ],
  ROLE_NOT_GRANTED: [
    'error',
    'The login {login} is not a member of the role voucher_gateway.',
    'A database administrator has to run: grant voucher_gateway to {login};',
  ],
  MIGRATION_FORBIDDEN: [
    'error',
    'The login {login} may not {what}.',
    'Use a login that may, or let an administrator of the database run: {statement}',
  ],
  MIGRATION_BLOCKED: [
    'warning',
    'A lock that a migration may need is held by {blocker}.',
    'Let it end before, or end it: {statement}',
  ],
  RELEASE_SKIPPED: [
    'error',
    'This version does not upgrade the database yet: release {release} has to run before it.',
    'Install release {release}, run its command migrate and its service until /readyz is 200, and then this version again.',
  ],
  DATABASE_NEWER: [
    'error',
    'A newer version of the service has migrated the database: {files}.',
    'Install that version, or a later one.',
  ],
  MIGRATIONS_MISSING: ['error', 'The database lacks migrations: {missing}.', 'Apply them first: {migrate}'],
  SOURCE_MISSING: [
    'error',
    'Table {source}, a source of records, does not exist.',
    'Create it, or install a mapping that does not read it.',
  ],
  CAPTURE_MISSING: [
    'error',
    'Changes of table {source} are not captured: trigger {trigger} is missing or disabled.',
    'Run: {statement}',
  ],
  MAPPING_BROKEN: [
    'error',
    'The mapping of the type {record} does not fit its source: {why}.',
    'Correct its select, or the source: steps try again by themselves.',
  ],
  MAPPING_STOPPED: [
    'error',
    'Steps do not follow the mapping of the type {record}: {why}',
    'Correct the mapping, and install it again.',
  ],
  PLATFORM_COPIED: ['warning', 'The tables of the platform are copied: {why}', 'Wait for the end of the copy.'],
  PLATFORM_UNWATCHED: ['error', 'No service looks at the platform.', 'Set PLATFORM_URL for it.'],
  PLATFORM_UNREACHABLE: [
    'error',
    'The database of the platform cannot be used ({error}). Its changes wait there.',
    'Start that server, or correct PLATFORM_URL.',
  ],
  PLATFORM_TABLES_DROPPED: [
    'error',
    'The platform has dropped tables that the mapping reads.',
    'Install a mapping that does not read them.',
  ],
  STAGED_TABLES_DIFFER: [
    'error',
    'The staged tables cannot follow those of the platform: {why}.',
    'Correct the cause, or install a mapping that does not read that column.',
  ],
  PLATFORM_TABLE_UNFIT: ['error', 'The table {table} of the platform {problem}.', '{remedy}'],
  PUBLICATION_INCOMPLETE: ['error', 'The publication lacks tables.', 'Run at the platform: {statements}'],
  SUBSCRIPTION_DISABLED: ['error', 'The subscription is disabled.', 'Run: alter subscription {name} enable;'],
  CHANGE_NOT_APPLIED: [
    'error',
    'A change of the platform cannot be applied: the log of the database server of the gateway says why.',
    "To copy the tables again, run there: update gateway.subscription set needs_copy = 'It failed.';",
  ],
  PLATFORM_LOG_SHORT: [
    'warning',
    'Less than {percent} % of max_slot_wal_keep_size is left at the platform. When none is left, its tables are copied again.',
    'Find what holds up the subscription, or raise max_slot_wal_keep_size there.',
  ],
  SERVICE_STOPPING: ['warning', 'The service is about to stop.', 'Send requests to another instance.'],
} as const satisfies Record<string, readonly [Level, message: string, action: string]>

export type ReasonCode = keyof typeof reasonList

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

/** The names of the facts of a reason. */
type FactsOf<Code extends ReasonCode> = NamesIn<(typeof reasonList)[Code][1 | 2]>

/** The codes whose texts need no facts. */
type PlainCode = { [Code in ReasonCode]: [FactsOf<Code>] extends [never] ? Code : never }[ReasonCode]

/** Makes a reason of the list. @param facts what its texts name */
export function reason(code: PlainCode): Reason
export function reason<Code extends ReasonCode>(code: Code, facts: Record<FactsOf<Code>, string | number>): Reason
export function reason(code: ReasonCode, facts: Record<string, string | number> = {}): Reason {
  const [level, message, action] = reasonList[code]
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name]))
  return { code, level, message: fill(message), action: fill(action) }
}

/** Returns the line for people: the code, what is wrong, and what to do. */
export const describeReason = ({ code, message, action }: Reason): string => `${code}: ${message} ${action}`

/** An error with reasons of the list: the program, or a connection, must not go on. */
export class ReasonError extends Error {
  override readonly name: string = 'ReasonError'
  readonly reasons: readonly Reason[]

  constructor(reasons: Reason | readonly Reason[], options?: ErrorOptions) {
    const all = [reasons].flat()
    super(all.map(describeReason).join('\n'), options)
    this.reasons = all
  }
}
