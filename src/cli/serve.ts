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
import { adminPath, graphiqlPath, graphqlPath, setupPath, v1Path } from '../http/paths.ts'
import { commandLine } from './actor.ts'
import { type Database, requireMigrated, requirePrimary, withOwnDatabase } from './database.ts'
import { listen } from './listen.ts'
import { recordServiceOrigin, removeServiceOrigin } from './service-origin.ts'
import { shellCommand } from './shell-command.ts'

/** How long open requests may take to finish when the service stops, in milliseconds. */
const drainTimeout = 10_000

/** `serve`: runs the service until SIGINT or SIGTERM. */
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
    // Loaded here, because it takes most of a second and the other commands do not need it.
    const { buildServer } = await import('../server.ts')
    const app = await buildServer(config, database.pool)
    process.on('uncaughtException', error => {
      // Node would print the whole error, which may quote a row or a request.
      app.log.fatal({ err: error }, 'uncaught error, the service stops')
      process.exit(1)
    })
    const origin = await listen(app, config)
    const adminOrigin = config.publicUrl ?? origin
    if (database.embedded) recordServiceOrigin(config.dataDir, adminOrigin)
    const firstSteps = await describeFirstAdministrator(database.pool, adminOrigin)
    console.log(welcome(config, { origin, adminOrigin, demoSecret, firstSteps }))
    await stopped
    // A second signal stops the service at once.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
    setTimeout(() => app.server.closeAllConnections(), drainTimeout).unref()
    // Connections close after their last response, instead of staying open for further requests.
    const idling = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idling)
    if (database.embedded) removeServiceOrigin(config.dataDir)
  })
})

/**
 * Migrates an embedded database, and loads the demo data when it is empty.
 *
 * @returns the secret of the demo token, the same at every start; null when the database has no demo data
 */
async function prepareEmbedded(config: Config, { owner, pool }: Database): Promise<string | null> {
  await migrate(owner)
  if (await isEmpty(owner)) {
    console.log('Loading demo data …')
    await loadDemo(owner, { scale: 1 })
  }
  if (!(await isDemo(owner))) return null
  const stored = readDemoSecret(config)
  const valid = stored !== null && (await createTokenDirectory(pool).find(stored)).status === 'active'
  return valid ? stored : createDemoToken(config, pool)
}

const demoSecretFile = (config: Config) => join(config.dataDir, 'demo-token')

function readDemoSecret(config: Config): string | null {
  try {
    return readFileSync(demoSecretFile(config), 'utf8').trim()
  } catch {
    return null
  }
}

async function createDemoToken(config: Config, pool: Pool): Promise<string> {
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
 * Describes how to create the first administrator: on a terminal with a new one-time link, and otherwise with a command,
 * because output that is stored as a log must not contain the link.
 *
 * @returns lines of text; none when an administrator exists
 */
async function describeFirstAdministrator(pool: Pool, adminOrigin: string): Promise<string[]> {
  if (process.stdout.isTTY) {
    const secret = await inviteFirstAdministrator(pool, commandLine())
    if (secret === null) return []
    return [
      '',
      '  Create the first administrator with this link, which works once, within 24 hours:',
      '',
      `  ${adminOrigin}${setupPath}/${secret}`,
    ]
  }
  if (!(await hasNoAdministrator(pool))) return []
  return [
    '',
    '  No administrator exists yet. Run this command here: it prints a link to create the first one.',
    '',
    `  ${shellCommand('admin create --email you@example.com')}`,
  ]
}

interface Welcome {
  /** The origin at which this machine reaches the service. */
  origin: string
  /** The origin of the API access page. */
  adminOrigin: string
  demoSecret: string | null
  /** Lines about the first administrator. */
  firstSteps: string[]
}

function welcome(config: Config, { origin, adminOrigin, demoSecret, firstSteps }: Welcome): string {
  const lines = ['', `  REST       ${origin}${v1Path}`, `  GraphQL    ${origin}${graphqlPath}`]
  if (config.graphiql) lines.push(`  GraphiQL   ${origin}${graphiqlPath}`)
  lines.push(`  Admin      ${adminOrigin}${adminPath}`)
  if (demoSecret !== null) {
    lines.push(
      `  Token      ${demoSecret}`,
      '',
      '  Try it:',
      '',
      `  curl -H 'Accept: application/json' -H 'Authorization: Bearer ${demoSecret}' ${origin}${v1Path}/tenants`,
    )
  }
  return [...lines, ...firstSteps, '', '  Ctrl-C stops it.', ''].join('\n')
}
