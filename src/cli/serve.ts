import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import { letDriverCompile } from '../db/compilable.ts'
import type { Pool } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { demoTenant, isDemo, isEmpty, loadDemo } from '../demo/load.ts'
import { hasNoAdministrator } from '../domain/administrator.ts'
import { inviteFirstAdministrator } from '../domain/invitation.ts'
import { permissionNames } from '../domain/permission.ts'
import { createTokenDirectory } from '../domain/token-directory.ts'
import { createToken } from '../domain/token-lifecycle.ts'
import { adminPath, graphiqlPath, graphqlPath, restPath, setupPath } from '../http/paths.ts'
import { commandLine } from './actor.ts'
import { type Database, requireMigrated, requirePrimary, withOwnDatabase } from './database.ts'
import { listen } from './listen.ts'
import { originOf } from './origin.ts'
import { recordServiceOrigin, removeServiceOrigin } from './service-origin.ts'
import { shellCommand } from './shell-command.ts'

/** How long requests under way may take to end when the service stops, in milliseconds. */
const drainTime = 10_000

/** `serve`: runs the service until it is told to stop. */
export const serveCommand = new Command('serve').description('Run the service.').action(async () => {
  const config = readConfig(process.env)
  const stopped = new Promise<void>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
  await withOwnDatabase(config, async database => {
    if (database.embedded) removeServiceOrigin(config.dataDir)
    const demoSecret = database.embedded ? await prepareEmbedded(config, database) : null
    await requireMigrated(database)
    await requirePrimary(database.pool)
    await letDriverCompile(database.pool)
    // The other commands have no use for it, and it takes most of a second to load.
    const { buildServer } = await import('../server.ts')
    const app = await buildServer(config, database.pool)
    process.on('uncaughtException', error => {
      // Node itself would print all of the error, and so the row or the request that it quotes.
      app.log.fatal({ err: error }, 'the service stops: an error was not caught')
      process.exit(1)
    })
    const origin = originOf(config.host, await listen(app, config))
    const adminOrigin = config.publicUrl ?? origin
    if (database.embedded) recordServiceOrigin(config.dataDir, adminOrigin)
    const firstSteps = await describeFirstAdministrator(database.pool, adminOrigin)
    console.log(welcome(config, { origin, adminOrigin, demoSecret, firstSteps }))
    await stopped
    // Who asks twice does not want to wait.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
    setTimeout(() => app.server.closeAllConnections(), drainTime).unref()
    // A connection is closed as soon as its last request is answered, and not kept for the next.
    const idling = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idling)
    if (database.embedded) removeServiceOrigin(config.dataDir)
  })
})

/**
 * An embedded database looks after itself: it is migrated, and filled with demo data when it is empty.
 *
 * @returns the secret of the demo token, the same at every start; null when the demo data are not there
 */
async function prepareEmbedded(config: Config, { owner, pool }: Database): Promise<string | null> {
  await migrate(owner)
  if (await isEmpty(owner)) {
    console.log('Loading demo data …')
    await loadDemo(owner, { scale: 1 })
  }
  if (!(await isDemo(owner))) return null
  const kept = readDemoSecret(config)
  const valid = kept !== null && (await createTokenDirectory(pool).find(kept)).status === 'active'
  return valid ? kept : keepDemoSecret(config, pool)
}

const demoSecretFile = (config: Config) => join(config.dataDir, 'demo-token')

function readDemoSecret(config: Config): string | null {
  try {
    return readFileSync(demoSecretFile(config), 'utf8').trim()
  } catch {
    return null
  }
}

async function keepDemoSecret(config: Config, pool: Pool): Promise<string> {
  const { secret } = await createToken(pool, commandLine(), {
    name: 'Demo',
    contact: null,
    rateLimit: null,
    permissions: [...permissionNames],
    tenants: [{ tenantId: demoTenant.tenantId, withDescendants: true }],
    expiresAt: null,
  })
  writeFileSync(demoSecretFile(config), `${secret}\n`, { mode: 0o600 })
  return secret
}

/**
 * Says how the first administrator is made. On a terminal that is a link, made now; elsewhere, where the output is kept
 * as a log, it is a command.
 *
 * @returns lines of text; none when there is an administrator
 */
async function describeFirstAdministrator(pool: Pool, adminOrigin: string): Promise<string[]> {
  if (process.stdout.isTTY) {
    const secret = await inviteFirstAdministrator(pool, commandLine())
    if (secret === null) return []
    return [
      '',
      '  Make the first administrator with this link, which works once, within 24 hours:',
      '',
      `  ${adminOrigin}${setupPath}/${secret}`,
    ]
  }
  if (!(await hasNoAdministrator(pool))) return []
  return [
    '',
    '  There is no administrator yet. This command, run here, prints a link that makes the first one:',
    '',
    `  ${shellCommand('admin create --email you@example.com')}`,
  ]
}

interface Welcome {
  /** Where the service is reached from this machine. */
  origin: string
  /** Where the API access page is reached. */
  adminOrigin: string
  demoSecret: string | null
  /** How the first administrator is made. */
  firstSteps: string[]
}

function welcome(config: Config, { origin, adminOrigin, demoSecret, firstSteps }: Welcome): string {
  const lines = ['', `  REST       ${origin}${restPath}`, `  GraphQL    ${origin}${graphqlPath}`]
  if (config.graphiql) lines.push(`  GraphiQL   ${origin}${graphiqlPath}`)
  lines.push(`  Admin      ${adminOrigin}${adminPath}`)
  if (demoSecret !== null) {
    lines.push(
      `  Token      ${demoSecret}`,
      '',
      '  Try it:',
      '',
      `  curl -H 'Accept: application/json' -H 'Authorization: Bearer ${demoSecret}' ${origin}${restPath}/tenants`,
    )
  }
  return [...lines, ...firstSteps, '', '  Ctrl-C stops it.', ''].join('\n')
}
