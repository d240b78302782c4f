/** Makes the file of `doctor --bundle` for support. The file contains no secrets and no values of records. */
import { readFileSync } from 'node:fs'
import { platform, release } from 'node:os'
import { variableNames } from '../config/variables.ts'
import type { Sql } from '../db/sql.ts'
import { hideKey } from './hide-key.ts'
import type { Facts } from './inspect.ts'
import { type Check, judge } from './judge.ts'

/**
 * Matches the names of variables whose values are left out of the file. Values with a URL that is not public are also
 * left out.
 */
const secretName = /KEY|SECRET|PASSWORD|TOKEN/
const publicUrls = /^(PUBLIC_URL|OIDC_ISSUER|SECURITY_CONTACT)$/
const isSecret = (name: string, value: string) =>
  secretName.test(name) || (value.includes('://') && !publicUrls.test(name))

/** Matches secrets in a text: tokens, redemption tokens, and links that create an administrator. */
const secretText = /vg[wr]_\w{20,}|(?<=\/setup\/)[\w-]+/g

/** Matches the password in a URL. */
const urlPassword = /(:\/\/[^\s/:@]*:)[^\s/@]+@/g

/** The maximum number of lines of the log that the file contains. */
const logLines = 500

/** The statistics of PostgreSQL. */
export interface Counts {
  tables: object[]
  /** Null when the extension pg_stat_statements is missing, or the login may not read it. */
  statements: object[] | null
}

/** Reads PostgreSQL's statistics of the gateway's tables, and of the service's statements by name. */
export async function readCounts(sql: Sql): Promise<Counts> {
  const tables = await sql<object[]>`
    select /* doctor.read_tables */ relname, seq_scan, idx_scan, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup,
           last_autovacuum, last_autoanalyze, pg_total_relation_size(relid) as bytes
    from pg_stat_all_tables where schemaname = 'gateway' order by relname`
  const statements = await sql<object[]>`
    select /* doctor.read_statements */ substring(query from '/[*] ([a-z_]+[.][a-z_]+) [*]/') as statement, sum(calls)::bigint as calls,
           sum(total_exec_time) as milliseconds, sum(rows)::bigint as rows, sum(shared_blks_read)::bigint as blocks_read
    from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database()) and query ~ '/[*] [a-z_]+[.][a-z_]+ [*]/'
    group by 1 order by milliseconds desc`.catch(() => null)
  return { tables, statements }
}

/** Hides the keys of sources that are not numbers, in the facts and in the checks of these facts. */
function hideKeys(found: Facts & Counts, checks: Check[]) {
  const rejected = found.gateway.rejected.map(each => ({ ...each, examples: each.examples.map(hideKey) }))
  const hidden = { ...found, gateway: { ...found.gateway, rejected } }
  const judged = judge(hidden)
  return { checks: checks.map(check => judged.find(({ name }) => name === check.name) ?? check), ...hidden }
}

/**
 * Makes the text of the file.
 *
 * @param found the facts and the checks; null when the database could not be used
 * @param log a file with lines of the log; default: none
 */
export function toBundle(
  environment: NodeJS.ProcessEnv,
  { checks, found, version, log }: { checks: Check[]; found: (Facts & Counts) | null; version: string; log?: string },
): string {
  const set = Object.entries(environment).flatMap(([name, value = '']) => (value === '' ? [] : [{ name, value }]))
  const secrets = set
    .filter(({ name, value }) => isSecret(name, value))
    .flatMap(({ value }) => [value, ...passwordsIn(value)])
  const configuration = set.flatMap(({ name, value }) =>
    variableNames.includes(name) ? [[name, isSecret(name, value) ? '(set)' : value]] : [],
  )
  const content = {
    time: new Date(),
    versions: { service: version, node: process.version, system: `${platform()} ${release()}` },
    configuration: Object.fromEntries(configuration),
    ...(found ? hideKeys(found, checks) : { checks }),
    log: log === undefined ? undefined : readFileSync(log, 'utf8').trimEnd().split('\n').slice(-logLines),
  }
  // JSON lines of `serve` contain no secret. Its lines for people, and lines of other programs, can contain one.
  const redact = (text: string) =>
    secrets
      .reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
      .replaceAll(secretText, '…')
      .replaceAll(urlPassword, '$1…@')
  return `${JSON.stringify(content, (_, value) => (typeof value === 'string' ? redact(value) : value), 2)}\n`
}

/** Returns the passwords of URLs, which commas separate, both as written and decoded. */
const passwordsIn = (value: string): string[] =>
  value.split(',').flatMap(url => {
    const password = URL.canParse(url) ? new URL(url).password : ''
    return password === '' ? [] : [password, decodeURIComponent(password)]
  })
