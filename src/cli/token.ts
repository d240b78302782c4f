import { Command, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { parseIdentifier } from '../domain/identifier.ts'
import { isPermission, type Permission, permissionNames, permissions } from '../domain/permission.ts'
import { listTokens, type TokenRecord, tokenStatus } from '../domain/token.ts'
import { createToken, revokeToken } from '../domain/token-lifecycle.ts'
import { rotateToken } from '../domain/token-rotation.ts'
import { commandLine } from './actor.ts'
import { withDatabase } from './database.ts'
import { shellCommand } from './shell-command.ts'

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const

function readId(text: string): number {
  const id = parseIdentifier(text)
  if (id === null) throw new InvalidArgumentError('Give the id of a record, a whole number such as 7.')
  return id
}

const readIds = (text: string, earlier: number[] = []) => [...earlier, readId(text)]

function readPermission(text: string, earlier: Permission[] = []): Permission[] {
  if (!isPermission(text)) throw new InvalidArgumentError(`Give one of: ${permissionNames.join(', ')}.`)
  return [...earlier, text]
}

/** @returns seconds */
function readDuration(text: string): number {
  const [, count, unit] = /^(0|[1-9]\d{0,5})([smhd])$/.exec(text) ?? []
  if (!count || !unit) throw new InvalidArgumentError('Give a duration, such as 90d, 12h, 30m or 45s.')
  return Number(count) * units[unit as keyof typeof units]
}

/** @param text a duration; @returns the time after it, counted from now */
const readTimeFromNow = (text: string) => new Date(Date.now() + readDuration(text) * 1000)

function readRate(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text))
    throw new InvalidArgumentError('Give a whole number from 1 to 1,000,000, such as 600.')
  return Number(text)
}

interface CreateOptions {
  name: string
  tenant: number[]
  withDescendants: boolean
  permission: Permission[]
  contact?: string
  rateLimit?: number
  expiresIn?: Date
  json: boolean
}

/** Prints a new token as JSON, or a sentence with its secret. */
function printToken(json: boolean, sentence: string, token: { id: number; token: string }): void {
  if (json) console.log(JSON.stringify(token))
  else console.log(`${sentence} Copy its secret now: it cannot be shown again.\n\n  ${token.token}\n`)
}

const create = new Command('create')
  .description('Create a token. Its secret is shown only once.')
  .requiredOption('--name <name>', 'the name of the token')
  .addOption(
    new Option('--tenant <id...>', 'the id of a tenant that the token may access')
      .argParser(readIds)
      .default([], 'none'),
  )
  .option('--with-descendants', 'grant access to all tenants below these too', false)
  .addOption(
    new Option('--permission <permission...>', permissionNames.map(name => `${name}: ${permissions[name]}`).join('\n'))
      .argParser(readPermission)
      .default([], 'none'),
  )
  .option('--contact <person>', 'the person at the partner who is responsible for the token')
  .option('--rate-limit <n>', 'operations a minute (default: the rate of the service)', readRate)
  .option('--expires-in <time>', 'when the token ends, such as 90d or 12h (default: never)', readTimeFromNow)
  .option('--json', 'print JSON', false)
  .action(async (options: CreateOptions) => {
    const { name, tenant, withDescendants, permission: permissions, json } = options
    const { contact = null, rateLimit = null, expiresIn: expiresAt = null } = options
    const tenants = tenant.map(tenantId => ({ tenantId, withDescendants }))
    const { id, secret } = await withDatabase(readConfig(process.env), ({ pool }) =>
      createToken(pool, commandLine(), { name, contact, rateLimit, permissions, tenants, expiresAt }),
    )
    printToken(json, `Token ${id} is created.`, {
      ...{ id, token: secret, name, permissions, tenants: tenant, with_descendants: withDescendants },
      ...{ contact, rate_limit: rateLimit, expires_at: expiresAt },
    })
  })

const list = new Command('list')
  .description('List all tokens, newest first.')
  .option('--json', 'print JSON', false)
  .action(async (options: { json: boolean }) => {
    const tokens = await withDatabase(readConfig(process.env), ({ pool }) =>
      listTokens(pool, { limit: Number.MAX_SAFE_INTEGER }),
    )
    if (options.json) console.log(JSON.stringify(tokens.map(toJson)))
    else if (tokens.length === 0)
      console.log(`There are no tokens. To create one: ${shellCommand('token create --help')}`)
    else console.table(tokens.map(toRow))
  })

const rotate = new Command('rotate')
  .description('Replace a token by a successor with a new secret, which is shown only once.')
  .argument('<id>', 'the id of the token', readId)
  .option(
    '--overlap <time>',
    'how long the old token stays valid, such as 24h (0s: it is revoked)',
    readDuration,
    86_400,
  )
  .option('--expires-in <time>', 'when the new token ends (default: like the old one)', readTimeFromNow)
  .option('--json', 'print JSON', false)
  .action(async (id: number, options: { overlap: number; expiresIn?: Date; json: boolean }) => {
    const { overlap, expiresIn: expiresAt = 'inherit', json } = options
    const successor = await withDatabase(readConfig(process.env), ({ pool }) =>
      rotateToken(pool, commandLine(), id, { overlap, expiresAt }),
    )
    const shown = { id: successor.id, token: successor.secret, rotated_from: id }
    printToken(json, `Token ${successor.id} replaces token ${id}.`, shown)
  })

const revoke = new Command('revoke')
  .description('Revoke a token. All instances reject it within a second.')
  .argument('<id>', 'the id of the token', readId)
  .action(async (id: number) => {
    await withDatabase(readConfig(process.env), ({ pool }) => revokeToken(pool, commandLine(), id))
    console.log(`Token ${id} is revoked.`)
  })

/** The command `token`: the bearer tokens of integrations. */
export const tokenCommand = new Command('token')
  .description('Create, list, rotate and revoke bearer tokens.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(rotate)
  .addCommand(revoke)

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
  id: token.id,
  name: token.name,
  token: token.hint,
  status: tokenStatus(token),
  permissions: token.permissions.join(' '),
  tenants: token.tenants.map(grant => `${grant.tenantId}${grant.withDescendants ? '+' : ''}`).join(' '),
  'expires at': token.expiresAt?.slice(0, 19) ?? 'never',
  'last used at': token.lastUsedAt?.slice(0, 19) ?? 'never',
})
