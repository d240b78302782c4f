import { Command, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { parseIdentifier } from '../domain/identifier.ts'
import { isPermission, type Permission, permissionNames, permissions } from '../domain/permission.ts'
import { listTokens, type TokenRecord, tokenStatus } from '../domain/token.ts'
import { createToken, revokeToken } from '../domain/token-lifecycle.ts'
import { rotateToken } from '../domain/token-rotation.ts'
import { commandLine } from './actor.ts'
import { requireMigrated, withDatabase } from './database.ts'
import { shellCommand } from './shell-command.ts'

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const

function readId(text: string): number {
  const id = parseIdentifier(text)
  if (id === null) throw new InvalidArgumentError('Give a positive whole number.')
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
  if (!count || !unit) throw new InvalidArgumentError('Give a time such as 90d, 12h, 30m or 45s.')
  return Number(count) * units[unit as keyof typeof units]
}

/** @returns the time that lies that far from now */
const readTimeFromNow = (text: string) => new Date(Date.now() + readDuration(text) * 1000)

function readRate(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('Give a positive whole number.')
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

const create = new Command('create')
  .description('Create a token. Its secret is shown this once.')
  .requiredOption('--name <name>', 'what it is called')
  .addOption(new Option('--tenant <id...>', 'a tenant it is authorised for').argParser(readIds).default([], 'none'))
  .option('--with-descendants', 'authorise it for all tenants below those too', false)
  .addOption(
    new Option('--permission <permission...>', permissionNames.map(name => `${name}: ${permissions[name]}`).join('\n'))
      .argParser(readPermission)
      .default([], 'none'),
  )
  .option('--contact <who>', 'who answers for it at the partner')
  .option('--rate-limit <n>', 'operations a minute, when not what the service allows by default', readRate)
  .option('--expires-in <time>', 'when it ends, such as 90d or 12h (never, when not given)', readTimeFromNow)
  .option('--json', 'print JSON', false)
  .action(async (options: CreateOptions) => {
    const { id, secret } = await withDatabase(readConfig(process.env), async database => {
      await requireMigrated(database)
      return createToken(database.pool, commandLine(), {
        name: options.name,
        contact: options.contact ?? null,
        rateLimit: options.rateLimit ?? null,
        permissions: options.permission,
        tenants: options.tenant.map(tenantId => ({ tenantId, withDescendants: options.withDescendants })),
        expiresAt: options.expiresIn ?? null,
      })
    })
    if (options.json) {
      const { name, contact, rateLimit, permission, tenant, withDescendants, expiresIn } = options
      const shown = { permissions: permission, tenants: tenant, with_descendants: withDescendants }
      const rest = {
        contact: contact ?? null,
        rate_limit: rateLimit ?? null,
        expires_at: expiresIn?.toISOString() ?? null,
      }
      console.log(JSON.stringify({ id, token: secret, name, ...shown, ...rest }))
    } else {
      console.log(`Token ${id} is created. Keep its secret now: it cannot be shown again.\n\n  ${secret}\n`)
    }
  })

const list = new Command('list')
  .description('List all tokens, newest first.')
  .option('--json', 'print JSON', false)
  .action(async (options: { json: boolean }) => {
    const tokens = await withDatabase(readConfig(process.env), async database => {
      await requireMigrated(database)
      return listTokens(database.pool, { limit: Number.MAX_SAFE_INTEGER })
    })
    if (options.json) console.log(JSON.stringify(tokens.map(toJson)))
    else if (tokens.length === 0)
      console.log(`There are no tokens. To create one: ${shellCommand('token create --help')}`)
    else console.table(tokens.map(toRow))
  })

interface RotateOptions {
  overlap: number
  expiresIn?: Date
  json: boolean
}

const rotate = new Command('rotate')
  .description('Give a token a successor with a new secret, which is shown this once.')
  .argument('<id>', 'the id of the token', readId)
  .option('--overlap <time>', 'how long the old one still holds, such as 24h (0s: not at all)', readDuration, 86_400)
  .option('--expires-in <time>', 'when the new one ends (with the old one, when not given)', readTimeFromNow)
  .option('--json', 'print JSON', false)
  .action(async (id: number, { overlap, expiresIn, json }: RotateOptions) => {
    const successor = await withDatabase(readConfig(process.env), async database => {
      await requireMigrated(database)
      return rotateToken(database.pool, commandLine(), id, { overlap, expiresAt: expiresIn ?? 'inherit' })
    })
    if (json) console.log(JSON.stringify({ id: successor.id, token: successor.secret, rotated_from: id }))
    else {
      console.log(
        `Token ${successor.id} takes the place of ${id}. Keep its secret now: it cannot be shown again.\n\n  ${successor.secret}\n`,
      )
    }
  })

const revoke = new Command('revoke')
  .description('Revoke a token; it is refused everywhere within a second.')
  .argument('<id>', 'the id of the token', readId)
  .action(async (id: number) => {
    await withDatabase(readConfig(process.env), async database => {
      await requireMigrated(database)
      await revokeToken(database.pool, commandLine(), id)
    })
    console.log(`Token ${id} is revoked.`)
  })

/** `token`: the bearer tokens of integrations. */
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
