import { writeFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { type Config, readConfig } from '../config/config.ts'
import { findExcessRights } from '../db/connection/rights.ts'
import { findLockHolders } from '../db/migration/upgrade-check.ts'
import { type Counts, readCounts, toBundle } from '../doctor/bundle.ts'
import { type Facts, inspect } from '../doctor/inspect.ts'
import { type Check, judge, toCheck } from '../doctor/judge.ts'
import { furtherChecks, readinessChecks } from '../doctor/quick.ts'
import { openIdCallbackPath } from '../http/paths.ts'
import { readStepState } from '../projection/step-state.ts'
import { describeReason, type Reason, ReasonError, reason } from '../reasons.ts'
import { requireMigrated, withUnmigratedDatabase } from './database/database.ts'
import { databaseError } from './database/errors.ts'
import { loadEnvFile } from './files/env-file.ts'
import { jsonOption, printResult, readSeconds } from './terminal/output.ts'

interface Options {
  openFor: number
  bundle?: string
  log?: string
  json: boolean
}

export const doctorCommand = new Command('doctor')
  .description(
    'Check the configuration, the database, its standbys, the platform, Redis and the OpenID provider, and print one line for each check, with ' +
      'what to do. Changes nothing. Exits with 1 when there is an error; a warning is none.',
  )
  .option('--open-for <seconds>', 'name transactions that are open for longer', readSeconds, 300)
  .option('--bundle <file>', 'write a file for support: settings without secrets, versions, checks, facts')
  .addOption(new Option('--log <file>', 'add its last lines to the bundle'))
  .addOption(jsonOption())
  .action(async ({ openFor, bundle, log, json }: Options, command: Command) => {
    const { checks, found } = await examine(openFor)
    if (bundle !== undefined) {
      const version = command.parent?.version() ?? ''
      const text = toBundle(process.env, { checks, found, version, ...(log !== undefined && { log }) })
      writeFileSync(bundle, text, { mode: 0o600 })
    }
    printResult(json, { checks }, checks.flatMap(describeCheck).join('\n'))
    if (checks.some(({ level }) => level === 'error')) process.exitCode = 1
  })

/**
 * Runs all checks. When the database cannot be used, or a check does not end, returns only the checks up to this point.
 * One of these checks names the reason.
 */
async function examine(openFor: number): Promise<{ checks: Check[]; found: (Facts & Counts) | null }> {
  try {
    loadEnvFile()
    const config = readConfig(process.env)
    return await withUnmigratedDatabase(async database => {
      const { owner, pool, embedded } = database
      const checks = [toCheck('start', [])]
      const findLocks = async () => {
        const holders = await findLockHolders(owner, true)
        const reasons = holders.map(facts => reason('TABLE_LOCKED', facts))
        return toCheck('locks', reasons)
      }
      try {
        await requireMigrated(database)
        for (const [name, find] of Object.entries({ ...readinessChecks, ...furtherChecks }))
          checks.push(toCheck(name, await find(pool)))
        checks.push(toCheck('records', (await readStepState(pool)).reasons))
        const excess = embedded ? [] : await findExcessRights(owner, config.platformUrl !== undefined)
        checks.push(toCheck('login', excess))
        // Imported here, because loading this module takes longer than most commands.
        const { checkOpenId } = await import('../doctor/openid.ts')
        checks.push(toCheck('openid', await checkOpenId(config, openIdCallbackPath)))
        checks.push(toCheck('issuer', checkIssuer(config)))
        const facts = await inspect(database, { ...config, openFor })
        checks.push(await findLocks(), ...judge(facts))
        return { checks, found: { ...facts, ...(await readCounts(owner)) } }
      } catch (error) {
        if (error instanceof ReasonError) throw error
        const locks = await findLocks().catch(() => null)
        if (locks?.level === 'error') return { checks: [...checks, locks], found: null }
        throw config.databaseUrl === undefined ? error : databaseError(config.databaseUrl, error)
      }
    }, config)
  } catch (error) {
    if (!(error instanceof ReasonError)) throw error
    return { checks: [toCheck('start', [...error.reasons])], found: null }
  }
}

/**
 * Checks the issuer of redemption tokens. With an embedded database the service is a demo, and redemptions come only
 * from this machine.
 */
const checkIssuer = ({ databaseUrl, publicUrl, redemption }: Config): Reason[] =>
  databaseUrl === undefined || publicUrl !== undefined
    ? []
    : [reason('PUBLIC_URL_MISSING', { issuer: redemption.issuer })]

const describeCheck = ({ name, reasons }: Check): string[] =>
  reasons.length === 0
    ? [`ok       ${name}`]
    : reasons.map(reason => `${reason.level.padEnd(8)} ${name}: ${describeReason(reason)}`)
