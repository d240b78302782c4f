import { Command, InvalidArgumentError, Option } from 'commander'
import { type TenantListName, tenantListNames } from '#client'
import { createJsonReport, createLineReport, onlyErrors } from './report.ts'
import * as service from './service-options.ts'
import { DatabaseUrlError } from './stores/database-url.ts'
import { readTarget } from './target.ts'

/** The default of `--schema`, the schema of a copy in PostgreSQL. */
const defaultSchema = 'voucher_gateway_copy'

const secondsPerUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Parses a duration, such as `45s`, `30m`, `12h` or `90d`. @returns seconds, or NaN for any other text */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(0|[1-9]\d{0,5})([smhd])$/.exec(text) ?? []
  return Number(count) * (secondsPerUnit[unit] ?? Number.NaN)
}

/** @returns seconds */
function parseInterval(text: string): number {
  const seconds = parseDuration(text)
  // Node's timers accept at most 2^31 milliseconds.
  if (!(seconds >= 1 && seconds <= 86_400)) throw new InvalidArgumentError('Give 1s to 24h, such as 30s, 5m or 1h.')
  return seconds
}

function readSchema(text: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(text) || text.startsWith('pg_')) {
    throw new InvalidArgumentError('Give a name of lower-case letters, digits and underscores.')
  }
  return text
}

interface Options extends service.ServiceOptions {
  to: string
  list: TenantListName[]
  watch?: number
  follow: boolean
  schema: string
  json: boolean
  quiet: boolean
  full: boolean
  verify: boolean
  status: boolean
  dryRun: boolean
}

async function createReport(json: boolean) {
  if (json) return createJsonReport()
  if (!process.stdout.isTTY || !process.stderr.isTTY) return createLineReport()
  return (await import('./progress-bar.ts')).createTerminalReport()
}

/**
 * Returns the target of the copy; null when the text is not a valid target. Ends the command with an error when the
 * target is a PostgreSQL URL that cannot be used.
 */
function parseTarget({ to, schema }: Options) {
  try {
    return readTarget(to, schema)
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error
    return syncCommand.error(error.problems.map(problem => `error: option '--to <place>' ${problem}.`).join('\n'))
  }
}

function taskOf({ dryRun, status, verify }: Options) {
  if (status) return 'status'
  if (dryRun) return 'dry run'
  return verify ? 'verify' : 'sync'
}

/** The command `sync`, which copies the records that a token may read, and keeps the copy up to date. */
export const syncCommand = new Command('sync')
  // The description is one line, because shell completion prints it after the name of the command.
  .description('Keep a copy in step with the service: products, purchased vouchers, marketing signups and tenants.')
  .addOption(service.urlOption())
  .addOption(service.allowHttpOption())
  .addOption(
    new Option('--to <place>', 'a directory, sqlite:FILE (Node 22.13 or later), or postgres://user@host/database')
      .env('VOUCHER_GATEWAY_SYNC_TO')
      .makeOptionMandatory(),
  )
  .addOption(service.tenantOption('copy'))
  .addOption(service.listOption('copy', tenantListNames))
  .option('--watch <interval>', 'stay, and begin a round at this interval, such as 30s or 5m', parseInterval)
  .addOption(
    new Option('--follow', 'stay, and take each change within a second of its listing')
      .default(false)
      .conflicts(['watch']),
  )
  .option('--token-file <file>', 'the file that holds the token; it is read again before each round')
  .option('--schema <name>', 'the schema of a copy in PostgreSQL', readSchema, defaultSchema)
  .option('--full', 'read all lists again from their beginning, and then drop what they no longer hold', false)
  .addOption(
    new Option('--verify', 'bring the copy in step, and compare each record with the service')
      .default(false)
      .conflicts(['full', 'watch', 'follow']),
  )
  .addOption(
    new Option('--dry-run', 'write nothing, and say what would be received and removed')
      .default(false)
      .conflicts(['verify', 'watch', 'follow']),
  )
  .addOption(
    new Option(
      '--status',
      'say what the copy holds and how old it is; with --url and a token, also which webhooks fail',
    )
      .default(false)
      .conflicts(['dryRun', 'full', 'verify', 'watch', 'follow']),
  )
  .option('--json', 'print one JSON object for each event', false)
  .option('--quiet', 'print errors only', false)
  .addHelpText(
    'after',
    `\nThe token is read from --token-file, or from ${service.tokenVariable}. The manual is at /docs/sync of the service.\n` +
      '\nExit codes: 0 in step, or a watch that was stopped; 1 error; 2 wrong usage; 3 the service refuses the token,\n' +
      'a tenant, a permission or the documents of this version; 4 the service cannot be reached, or its answers are not\n' +
      'from Voucher Gateway; 5 --verify found differences; 6 another sync uses the copy; 7 --status found an unfinished\n' +
      'pass; 130 stopped by a signal before it was in step; 141 the reader of the output has left.',
  )
  .action(async (options: Options) => {
    const target = parseTarget(options)
    if (!target) {
      return syncCommand.error("error: option '--to <place>' names no directory, sqlite:FILE or postgres:// URL.")
    }
    const url = options.status ? (options.url ?? '') : service.requireUrl(syncCommand, options)
    const printed = await createReport(options.json)
    const report = options.quiet ? onlyErrors(printed) : printed
    // A copy contains personal data, so only this user may read its files.
    process.umask(0o077)
    const stop = service.stopBySignal()
    const { runSync } = await import('./run.ts')
    process.exitCode = await runSync(
      {
        url,
        allowHttp: options.allowHttp,
        readToken: () => service.readToken(options.tokenFile),
        to: target.name,
        openStore: target.open,
        readCopy: target.read,
        task: taskOf(options),
        full: options.full,
        selection: {
          tenants: options.tenant.length > 0 ? new Set(options.tenant) : null,
          lists: options.list.length > 0 ? new Set(options.list) : null,
        },
        watch: options.follow ? 'follow' : (options.watch ?? null),
      },
      report,
      stop,
    )
  })
