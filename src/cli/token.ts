import { Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '#sync'
import type { Pool } from '../db/sql.ts'
import { createToken, editToken, revokeToken } from '../domain/token/lifecycle.ts'
import { listTokens } from '../domain/token/list.ts'
import { type Permission, permissionNames, permissions } from '../domain/token/permission.ts'
import { rotateToken } from '../domain/token/rotation.ts'
import { getToken, type TokenRecord, tokenStatus } from '../domain/token/token.ts'
import { makeAllSteps } from '../projection/step.ts'
import { withDatabase } from './database/database.ts'
import { commandLineActor } from './terminal/actor.ts'
import { jsonOption, printFacts, printList, printResult, readId, readNumber } from './terminal/output.ts'
import { shellCommand } from './terminal/shell-command.ts'

interface Json {
  json: boolean
}

const readIds = (text: string, earlier: number[] = []) => [...earlier, readId(text)]

const readRate = readNumber(/^[1-9]\d{0,6}$/, 'Give a whole number from 1 to 1,000,000, such as 600.')

/** Reads a duration, such as `90d`, `12h`, `30m` or `45s`. @returns seconds @throws InvalidArgumentError */
function readDuration(text: string): number {
  const seconds = parseDuration(text)
  if (Number.isNaN(seconds)) throw new InvalidArgumentError('Give a duration, such as 90d, 12h, 30m or 45s.')
  return seconds
}

interface TokenOptions {
  name?: string
  tenant?: number[]
  withDescendants?: boolean
  permission?: Permission[]
  contact?: string
}

/** Adds the options that `create` and `edit` share: all properties of a token except its name and its rate. */
const addTokenOptions = (command: Command): Command =>
  command
    .addOption(new Option('--tenant <id...>', 'the id of a tenant that the token may access').argParser(readIds))
    .option('--with-descendants', 'grant access to all tenants below these too')
    .addOption(new Option('--permission <permission...>', 'what the token may do').choices(permissionNames))
    .option('--contact <person>', 'the person at the partner who is responsible for the token')

const permissionHelp = `\nPermissions:\n${permissionNames.map(name => `  ${name}: ${permissions[name]}`).join('\n')}`

/** Creates the option for the expiry of a token. @param otherwise the words for the default in the help */
const createExpiryOption = (otherwise: string) =>
  new Option('--expires-in <time>', `when the token ends, such as 90d or 12h (default: ${otherwise})`).argParser(
    text => new Date(Date.now() + readDuration(text) * 1000),
  )

/** Prints a new token as JSON, or a sentence with its secret. */
const printSecret = (json: boolean, sentence: string, shown: { id: number; token: string }) =>
  printResult(json, shown, `${sentence} Copy its secret now: it cannot be shown again.\n\n  ${shown.token}\n`)

/** The maximum wait until steps have written the records of new tenants, in milliseconds. */
const stepTimeout = 5_000

/**
 * Opens the database, and makes steps that write the records of new tenants before the work runs, because perhaps no
 * service runs.
 */
const withTenants = <Result>(work: (pool: Pool) => Promise<Result>) =>
  withDatabase(async ({ pool }) => {
    await makeAllSteps(pool, AbortSignal.timeout(stepTimeout))
    return work(pool)
  })

const createCommand = addTokenOptions(
  new Command('create')
    .description('Create a token. Its secret is shown only once.')
    .requiredOption('--name <name>', 'the name of the token'),
)
  .option('--rate-limit <n>', 'operations a minute (default: the rate of the service)', readRate)
  .addOption(createExpiryOption('never'))
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `${permissionHelp}

Examples:
  token create --name Till --tenant 2 --permission redeem_vouchers --expires-in 90d
  token create --name Sync --tenant 1 --with-descendants --permission view_vouchers view_orders`,
  )
  .action(async (options: TokenOptions & Json & { name: string; rateLimit?: number; expiresIn?: Date }) => {
    const { name, tenant = [], withDescendants = false, permission: permissions = [], json } = options
    const { contact = null, rateLimit = null, expiresIn: expiresAt = null } = options
    const tenants = tenant.map(tenantId => ({ tenantId, withDescendants }))
    const { id, secret } = await withTenants(pool =>
      createToken(pool, commandLineActor(), { name, contact, rateLimit, permissions, tenants, expiresAt }),
    )
    printSecret(json, `Token ${id} is created.`, {
      ...{ id, token: secret, name, permissions, tenants: tenant, with_descendants: withDescendants },
      ...{ contact, rate_limit: rateLimit, expires_at: expiresAt },
    })
  })

const listCommand = new Command('list')
  .description('List all tokens, newest first.')
  .addOption(jsonOption())
  .action(async ({ json }: Json) => {
    const { rows: tokens } = await withDatabase(({ pool }) => listTokens(pool, { limit: Number.MAX_SAFE_INTEGER }))
    const none = `There are no tokens. To create one: ${shellCommand('token create --help')}`
    printList(json, tokens, toJson, toRow, none)
  })

const showCommand = new Command('show')
  .description('Show a token: all but its secret, which is not stored.')
  .argument('<id>', 'the id of the token', readId)
  .addOption(jsonOption())
  .action(async (id: number, { json }: Json) => {
    const token = await withDatabase(({ pool }) => getToken(pool, id))
    if (json) printResult(json, toJson(token), '')
    else printFacts(toFacts(token))
  })

const editCommand = addTokenOptions(
  new Command('edit')
    .description('Change a token. What no option names stays as it is. All instances apply it within a second.')
    .argument('<id>', 'the id of the token', readId)
    .option('--name <name>', 'the name of the token'),
)
  .addOption(
    new Option('--rate-limit <n>', 'operations a minute, or `default` for the rate of the service').argParser(text =>
      text === 'default' ? text : readRate(text),
    ),
  )
  .addOption(jsonOption())
  .addHelpText(
    'after',
    `${permissionHelp}

Examples:
  token edit 3 --permission view_vouchers view_orders
  token edit 3 --tenant 1 --with-descendants --rate-limit 600`,
  )
  .action(async (id: number, options: TokenOptions & Json & { rateLimit?: number | 'default' }) => {
    const { name, contact, permission, tenant, withDescendants = false, rateLimit, json } = options
    const edited = await withTenants(async pool => {
      const token = await getToken(pool, id)
      await editToken(pool, commandLineActor(), id, token.revision, {
        name: name ?? token.name,
        contact: contact ?? token.contact,
        permissions: permission ?? token.permissions,
        rateLimit: rateLimit === 'default' ? null : (rateLimit ?? token.rateLimit),
        tenants: (tenant ?? token.tenants.map(({ tenantId }) => tenantId)).map(tenantId => ({
          tenantId,
          withDescendants:
            withDescendants ||
            (!tenant && token.tenants.some(grant => grant.tenantId === tenantId && grant.withDescendants)),
        })),
      })
      return getToken(pool, id)
    })
    printResult(json, toJson(edited), `Token ${id} is changed.`)
  })

const rotateCommand = new Command('rotate')
  .description('Replace a token by a successor with a new secret, which is shown only once.')
  .argument('<id>', 'the id of the token', readId)
  .addOption(
    new Option('--overlap <time>', 'how long the old token stays valid, such as 24h (0s: it is revoked)')
      .argParser(readDuration)
      .default(readDuration('24h'), '24h'),
  )
  .addOption(createExpiryOption('like the old one'))
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  token rotate 3 --overlap 7d')
  .action(async (id: number, options: Json & { overlap: number; expiresIn?: Date }) => {
    const { overlap, expiresIn: expiresAt = 'inherit', json } = options
    const successor = await withDatabase(({ pool }) =>
      rotateToken(pool, commandLineActor(), id, { overlap, expiresAt }),
    )
    const shown = { id: successor.id, token: successor.secret, rotated_from: id }
    printSecret(json, `Token ${successor.id} replaces token ${id}.`, shown)
  })

const revokeCommand = new Command('revoke')
  .description('Revoke a token. All instances reject it within a second.')
  .argument('<id>', 'the id of the token', readId)
  .addOption(jsonOption())
  .action(async (id: number, { json }: Json) => {
    await withDatabase(({ pool }) => revokeToken(pool, commandLineActor(), id))
    printResult(json, { id, status: 'revoked' }, `Token ${id} is revoked.`)
  })

export const tokenCommand = new Command('token')
  .description('Create, list, show, edit, rotate and revoke bearer tokens.')
  .addCommand(createCommand)
  .addCommand(listCommand)
  .addCommand(showCommand)
  .addCommand(editCommand)
  .addCommand(rotateCommand)
  .addCommand(revokeCommand)

const toJson = (token: TokenRecord) => ({
  id: token.id,
  name: token.name,
  contact: token.contact,
  hint: token.hint,
  status: tokenStatus(token),
  permissions: token.permissions,
  tenants: token.tenants.map(grant => ({ id: grant.tenantId, with_descendants: grant.withDescendants })),
  rate_limit: token.rateLimit,
  rotated_from: token.rotatedFrom,
  created_at: token.createdAt,
  created_by: token.createdBy,
  expires_at: token.expiresAt,
  revoked_at: token.revokedAt,
  last_used_at: token.lastUsedAt,
  last_used_address: token.lastUsedAddress,
})

const toRow = (token: TokenRecord) => ({
  id: String(token.id),
  name: token.name,
  token: token.hint,
  status: tokenStatus(token),
  permissions: token.permissions.join(' '),
  tenants: token.tenants.map(grant => `${grant.tenantId}${grant.withDescendants ? '+' : ''}`).join(' '),
  'expires at': token.expiresAt?.slice(0, 19) ?? 'never',
  'last used at': token.lastUsedAt?.slice(0, 19) ?? 'never',
})

const toFacts = (token: TokenRecord) => {
  const { contact, rateLimit, createdAt, createdBy, lastUsedAddress } = token
  const tenants = token.tenants.map(
    ({ tenantId, name, withDescendants }) =>
      `${name ?? 'absent'} (${tenantId}${withDescendants ? ', with all below' : ''})`,
  )
  return {
    ...toRow(token),
    tenants: tenants.join(', '),
    contact: contact ?? '',
    'operations a minute': rateLimit === null ? 'the rate of the service' : String(rateLimit),
    'created at': `${createdAt.slice(0, 19)} by ${createdBy}`,
    'last used from': lastUsedAddress ?? '',
  }
}
