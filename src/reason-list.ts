/**
 * The closed list of reasons: the problems of a start, of a running service, and of its database. The first line of
 * each reason is the message, and the second line is the action. A name in braces stands for a fact.
 */

/** The reasons of the level `error`. */
export const errors = {
  CONFIG_INVALID: `{variable} {problem}.
    Correct it: .env.example explains each variable.`,
  CONFIG_UNKNOWN: `{variable} is not a variable of this service.
    {advice}`,
  ENV_FILE_INVALID: `{place}: expected NAME=value, for example PORT=8080, or a comment after #.
    Put a value with # or a quotation mark in quotes.`,
  ENV_FILE_REPEATED: `{place}: {variable} is set twice.
    Remove one of the two lines.`,
  ENV_FILE_UNREADABLE: `{file} cannot be read: {why}.
    Make the file readable, or remove it.`,
  DOCUMENT_INVALID: `{place}: {problem}
    Correct it, or change GRAPHQL_DOCUMENTS_PATH.`,
  FILES_TOO_FEW: `This process may have {limit} files open, and needs {needed} {use}.
    Raise the limit, for example with ulimit -n 4096 or LimitNOFILE=4096.`,
  HEAP_TOO_SMALL: `This process may have a heap of {limit} MiB, and needs {needed} {use}.
    Raise the limit, for example with NODE_OPTIONS=--max-old-space-size=512, or the memory of the container.`,
  PORT_IN_USE: `Cannot listen with HOST={host} and {variable}={port} ({error}).
    Another program listens on that port. Stop it, or choose another port, for example {example}`,
  PORT_FORBIDDEN: `Cannot listen with HOST={host} and {variable}={port} ({error}).
    This user may not use that port. Set {variable} to 1024 or higher, for example {variable}=8080.`,
  HOST_INVALID: `Cannot listen with HOST={host} and {variable}={port} ({error}).
    HOST must be an address of this machine, for example HOST=127.0.0.1, or HOST=0.0.0.0 for all of its addresses.`,
  DATA_DIR_UNUSABLE: `The data directory DATA_DIR={directory} cannot be used: {why}.
    Set DATA_DIR to a directory that this user can write to, or DATABASE_URL to your own PostgreSQL server.`,
  DATA_DIR_UNRELEASED: `The database in the data directory {directory} was made by an unreleased version of this service and cannot be upgraded.
    Delete that directory, with all data in it, and run this command again.`,
  DRIVER_NOT_PATCHED: `The database driver in {directory} lacks the patch that this version needs: it can give a request the rows of another request.
    Build the service again (npm ci && npm run build), or install the package again.`,
  DATABASE_UNREACHABLE: `The database that DATABASE_URL names ({target}) cannot be used: {why}.
    Start that server, or correct DATABASE_URL, for example postgres://user:password@host:5432/database.`,
  DATABASE_LOGIN_REFUSED: `The database that DATABASE_URL names ({target}) cannot be used: {why}.
    Correct the user name and the password in DATABASE_URL, for example postgres://user:password@host:5432/database.`,
  DATABASE_NOT_FOUND: `The database that DATABASE_URL names ({target}) cannot be used: {why}.
    Create that database, or correct its name in DATABASE_URL, for example postgres://user:password@host:5432/database.`,
  DATABASE_PARAMETERS_REFUSED: `The database that DATABASE_URL names ({target}) cannot be used: {why}.
    A pooler that accepts no start-up parameters needs DATABASE_STARTUP_PARAMETERS=off and the configuration in docs/scaling.md. Otherwise correct DATABASE_URL, for example postgres://user:password@host:5432/database.`,
  DATABASE_UNRELEASED: `The database that DATABASE_URL names was made by an unreleased version of this service and cannot be upgraded.
    Create an empty one, name it in DATABASE_URL, and run: {migrate}. Then let the platform fill it, or load demo data with: {demo}.`,
  DATABASE_NOT_UTF8: `The database has the encoding {encoding}, in which some texts cannot be stored. It must be UTF8.
    Create another database, and set DATABASE_URL to it: create database gateway encoding 'UTF8' locale 'C' template template0;`,
  TABLE_LOCKED: `All others are shut out from {tables} by {blocker}. Behind it wait: {waiters}.
    Let it end, or end it: {statement}`,
  POSTGRES_TOO_OLD: `The server that {variable} names is PostgreSQL {version}; this service needs {oldest} or later.
    Upgrade that server, or set {variable} to another server.`,
  DATABASE_FAILED: `The database cannot be used ({error}).
    The log has the error.`,
  DATABASE_SILENT: `The database did not answer within a second.
    Look at its load, at its locks, and at the network.`,
  DATABASE_STANDBY: `The database is a standby.
    Set DATABASE_URL to its primary.`,
  DATABASE_READ_ONLY: `The database takes no writes: it is read-only.
    Set default_transaction_read_only to off for it and for the login, or set DATABASE_URL to the primary.`,
  DATABASE_ROUTED: `A program before the database, such as Pgpool-II, sends reads to a standby.
    Set DATABASE_URL to the primary itself, and DATABASE_REPLICA_URLS to the standbys, or to a program before them.`,
  SESSION_DROPS_PARAMETERS: `A session of the database is not as it must be: {problems}.
    A program before the database, such as PgBouncer with ignore_startup_parameters, drops the start-up parameters. Set them at the pooler, and DATABASE_STARTUP_PARAMETERS=off; docs/scaling.md has the configuration.`,
  SESSION_LACKS_SETTINGS: `A session of the database is not as it must be: {problems}.
    DATABASE_STARTUP_PARAMETERS is off, so the pooler (connect_query of PgBouncer) or the login (alter role … set) has to set them; docs/scaling.md has the configuration.`,
  LOGIN_CHANGES_AUDIT: `The login {login} may change the audit, which a pooler that loses the role would let the service do.
    Use a login without rights of its own: create role gateway_login login in role voucher_gateway;`,
  PGBOUNCER_FORGETS_STATEMENTS: `PgBouncer keeps no prepared statements.
    Set max_prepared_statements = 500 in its configuration.`,
  ROLE_MISSING: `The role voucher_gateway does not exist yet.
    The owner of the schema has to apply the migrations: {migrate}`,
  ROLE_NOT_GRANTED: `The login {login} is not a member of the role voucher_gateway.
    A database administrator has to run: grant voucher_gateway to {login};`,
  MIGRATION_FORBIDDEN: `The login {login} may not {what}.
    Use a login that may, or let an administrator of the database run: {statement}`,
  RELEASE_SKIPPED: `This version does not upgrade the database yet: release {release} has to run before it.
    Install release {release}, run its command migrate and its service until /readyz is 200, and then this version again.`,
  DATABASE_NEWER: `A newer version of the service has migrated the database: {files}.
    Install that version, or a later one.`,
  MIGRATIONS_MISSING: `The database lacks migrations: {missing}.
    Apply them first: {migrate}`,
  SOURCE_MISSING: `Table {source}, a source of records, does not exist.
    Let the owner of the schema gateway create it, or install a mapping that does not read it.`,
  CAPTURE_MISSING: `Changes of table {source} are not captured: trigger {trigger} is missing, disabled or replaced.
    The service repairs it within seconds if the owner of the schema gateway may. Otherwise let the owner of the table run: {statement}`,
  STEPS_LATE: `No step was made for {seconds} s, so the records miss changes: {why}.
    {remedy}`,
  MAPPING_BROKEN: `The mapping of the type {record} does not fit its source: {why}.
    Let the owner of the schema gateway correct its select, or the source: steps then continue automatically.`,
  MAPPING_STOPPED: `Steps do not follow the mapping of the type {record}: {why}
    Let the owner of the schema gateway correct the mapping, and install it again, or the rows of its source: steps then continue automatically.`,
  PLATFORM_UNWATCHED: `No service looks at the platform.
    Set PLATFORM_URL for it.`,
  PLATFORM_UNREACHABLE: `The database of the platform cannot be used ({error}). Its changes wait there.
    Start that server, or correct PLATFORM_URL.`,
  PLATFORM_TABLES_DROPPED: `The platform has dropped tables that the mapping reads.
    Let the owner of the schema gateway install a mapping that does not read them.`,
  STAGED_TABLES_DIFFER: `The copies of the platform's tables cannot follow their originals: {why}.
    Let the owner of the schema gateway correct the cause, or install a mapping that does not read that column.`,
  PLATFORM_TABLE_UNFIT: `The table {table} of the platform {problem}.
    {remedy}`,
  PUBLICATION_INCOMPLETE: `The publication lacks tables.
    Let the owner of the tables run at the platform: {statements}`,
  PUBLICATION_TOO_WIDE: `The platform publishes tables that are not staged: {tables}. These tables are not copied.
    Let the owner of the publication run at the platform: {statements}`,
  PUBLICATION_FORBIDDEN: `The platform publishes tables of the schema gateway, with which it could write tokens: {tables}. Nothing of the platform is applied.
    Find who published them, and let the owner of the publication run at the platform: {statements}`,
  SUBSCRIPTION_DISABLED: `The subscription is disabled.
    Let its owner run: alter subscription {name} enable;`,
  CHANGE_NOT_APPLIED: `A change of the platform cannot be applied: the log of the database server of the gateway says why.
    To copy the tables again, let the owner of the schema gateway run: update gateway.subscription set needs_copy = 'It failed.';`,
  GRANT_MISSING: `The service lacks rights on {object}.
    Let the owner of the schema gateway run: {statement}`,
  DISK_FULL: `A write has failed within the last 20 seconds, because the database server has no room on its disk.
    Let an administrator of the database server free room there, or add some: the service continues automatically.`,
  PGBOUNCER_STATEMENT_MODE: `PgBouncer is in the mode statement, in which no transaction can run.
    Set pool_mode = transaction for this database in its configuration, and reload it.`,
} as const

const warnings = {
  STANDBY_UNREACHABLE: `Standby {standby} of DATABASE_REPLICA_URLS does not answer within half a second.
    Start that server, or correct its address. The log has the error.`,
  STANDBY_LATE: `Standby {standby} of DATABASE_REPLICA_URLS is late.
    Look at its replay: whether it is paused or delayed, and which statements delay it.`,
  STANDBY_PROMOTED: `Standby {standby} of DATABASE_REPLICA_URLS takes writes: it was promoted, or is no standby.
    Let it follow the primary, or remove its address.`,
  STANDBY_REPLACED: `Standby {standby} of DATABASE_REPLICA_URLS follows another server than the primary, or a server that it has replaced.
    Let it follow the primary, or remove its address.`,
  FIRST_FILL: `Steps still write the records of all rows: until their end lists, searches, figures and exports answer 503.
    Wait: voucher-gateway adopt status shows how far they are.`,
  MIGRATION_BLOCKED: `A lock that a migration may need is held by {blocker}.
    Let it end before, or end it: {statement}`,
  PLATFORM_COPIED: `The tables of the platform are copied: {why}
    Wait for the end of the copy.`,
  PLATFORM_LOG_SHORT: `Less than {percent} % of max_slot_wal_keep_size is left at the platform. When none is left, its tables are copied again.
    Find what delays the subscription, or raise max_slot_wal_keep_size there.`,
  INDEX_INVALID: `No statement uses the index {index}: it is not valid.
    Let its owner run: {statement}`,
  INDEX_BLOATED: `The index {index} has {size} for {rows} rows.
    Let its owner run: reindex index concurrently {index};`,
  SCHEMA_CHANGED: `Objects of the schema gateway are not as upgrades have made them: {objects}.
    Run this command, which makes functions and views again; undo a change of a table by hand: {migrate}`,
  RIGHTS_FOREIGN: `The role {login} has rights in the schema gateway: on {objects}.
    Let the owner of the schema revoke them: call gateway.revoke_from_others();`,
  SCHEMA_OPEN: `The role {login} may create objects in the schema {schema}, of which the gateway uses tables or operators.
    Unless it must create objects there, let the owner of the schema run: {statement}`,
  SESSIONS_HIDDEN: `Open transactions of other logins are hidden from {login}.
    Let a superuser run: grant pg_read_all_stats to {login};`,
  TRANSACTION_OPEN: `{who}, has a transaction that is open since {since}. Notes and dead rows of that time are kept.
    Let its application end it, or run: {statement}`,
  TRANSACTION_PREPARED: `The transaction {name} of {login} in the database {database} is prepared since {since}. Notes and dead rows of that time are kept.
    Let its transaction manager end it, or run in that database: {statement}`,
  SLOT_UNUSED: `Nothing reads the replication slot {slot}, for which the server keeps {kept} of its log.
    Start its reader, or run: {statement}`,
  TRANSACTION_TIMEOUT: `transaction_timeout is {value} for the service: it ends long steps, such as the steps of the first fill.
    Let a superuser run: {statement}`,
  AUTOVACUUM_OFF: `autovacuum or track_counts is off, so tables grow.
    Let a superuser run both, and reload the configuration: alter system set autovacuum = on; alter system set track_counts = on;`,
  TABLE_NOT_VACUUMED: `Autovacuum is off for {table}.
    Let its owner run: alter table {table} reset (autovacuum_enabled);`,
  DEAD_ROWS: `{table} has {rows} dead rows.
    Let its owner run: vacuum {table};`,
  KEYS_REJECTED: `v1 cannot show {keys} rows of the type {record}: {why}. Keys: {examples}.
    Correct the rows in the tables of the platform: steps then accept them.`,
  MAPPING_RUNS_CODE: `The mapping of {record} runs code of {owner}: {objects}.
    Give these to a role that you trust: {owner} decides what v1 shows of {record}, and may read everything that voucher_gateway_reader may read.`,
  WEBHOOK_PAUSED: `Webhook {id} of token {token} is paused since {since}, {why}.
    When its receiver works, run: voucher-gateway webhook resume {id}. What has waited is sent then.`,
  REDIS_EVICTS: `Redis has maxmemory-policy {policy}: when it is full, it deletes rates, and their limits begin again.
    Run in Redis, and set it in its configuration: config set maxmemory-policy noeviction`,
  REDIS_UNREACHABLE: `Redis cannot be used: {error}. Each process counts rates by itself.
    Start that server, or correct REDIS_URL.`,
  OPENID_UNREACHABLE: `The OpenID provider {issuer} cannot be asked: {error}. Sign-ins through it fail.
    Let this machine reach it, or correct OIDC_ISSUER.`,
  OPENID_REFUSES: `The OpenID provider {issuer} refuses all sign-ins: {problem}.
    {advice}`,
  PUBLIC_URL_MISSING: `PUBLIC_URL is not set, so redemption tokens have the issuer {issuer}, which redemptions on other machines cannot reach.
    Set PUBLIC_URL to the origin under which the service is reached, for example https://gateway.example.com.`,
  CLOCK_DIFFERS: `The clock of this instance is {seconds} s {direction} the database's. Ends of new tokens are wrong by as much, and sign-ins through a provider may fail.
    Find which of them is wrong, and let both machines follow one source of time (NTP). The database's is: select now();`,
  LOGIN_TOO_STRONG: `The service's login {login} has more rights than it needs: it {rights}.
    Let the service use its own login, as in deploy/roles.sql: create role gateway_login login in role voucher_gateway;`,
  SERVICE_STOPPING: `The service is about to stop.
    Send requests to another instance.`,
} as const

/** The texts of each reason. */
export const reasonList = { ...errors, ...warnings }
