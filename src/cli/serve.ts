import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import { letDriverCompile } from '../db/compilable.ts'
import type { Pool } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { isDemo, isEmpty, loadDemo, showcase } from '../demo/load.ts'
import { inviteFirst } from '../domain/invitation.ts'
import { permissionNames } from '../domain/permission.ts'
import { createTokenDirectory } from '../domain/token-directory.ts'
import { createToken } from '../domain/token-lifecycle.ts'
import { adminPath, graphiqlPath, graphqlPath, restPath, setupPath } from '../http/paths.ts'
import { commandLine } from './actor.ts'
import { type Database, openDatabase, requireMigrated, requirePrimary } from './database.ts'

/** How long requests under way may take to end when the service stops, in milliseconds. */
const drainTime = 10_000

/** `serve`: runs the service until it is told to stop. */
export const serveCommand = new Command('serve').description('Run the service.').action(async () => {
  const config = readConfig(process.env)
  const stopped = new Promise<void>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
  const database = await openDatabase(config, { attach: false })
  try {
    const demoSecret = database.embedded ? await prepareEmbedded(config, database) : null
    await requireMigrated(database)
    await requirePrimary(database.pool)
    await letDriverCompile(database.pool)
    // The other commands have no use for it, and it takes most of a second to load.
    const { buildServer } = await import('../server.ts')
    const app = await buildServer(config, database.pool)
    await app.listen({ host: config.host, port: config.port })
    const { port } = app.server.address() as { port: number }
    console.log(welcome(config, port, { demoSecret, setupSecret: await inviteFirst(database.pool, commandLine()) }))
    await stopped
    // Who asks twice does not want to wait.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
    setTimeout(() => app.server.closeAllConnections(), drainTime).unref()
    // A connection is closed as soon as its last request is answered, and not kept for the next.
    const idling = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idling)
  } finally {
    await database.close()
  }
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
    tenants: [{ tenantId: showcase.tenantId, withDescendants: true }],
    expiresAt: null,
  })
  writeFileSync(demoSecretFile(config), `${secret}\n`, { mode: 0o600 })
  return secret
}

interface Secrets {
  demoSecret: string | null
  /** Of the link that makes the first administrator. */
  setupSecret: string | null
}

function welcome(config: Config, port: number, { demoSecret, setupSecret }: Secrets): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const origin = `http://${host === '0.0.0.0' || host === '[::]' ? 'localhost' : host}:${port}`
  const lines = ['', `  REST       ${origin}${restPath}`, `  GraphQL    ${origin}${graphqlPath}`]
  if (config.graphiql) lines.push(`  GraphiQL   ${origin}${graphiqlPath}`)
  const adminOrigin = config.publicUrl ?? origin
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
  if (setupSecret !== null) {
    lines.push(
      '',
      '  Make the first administrator, with this link that works once, within 24 hours:',
      '',
      `  ${adminOrigin}${setupPath}/${setupSecret}`,
    )
  }
  return [...lines, '', '  Ctrl-C stops it.', ''].join('\n')
}
