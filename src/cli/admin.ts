import { text } from 'node:stream/consumers'
import { Command, InvalidArgumentError } from 'commander'
import { type Config, readConfig } from '../config.ts'
import {
  type AdministratorRecord,
  listAdministrators,
  parseEmail,
  removeAdministrator,
} from '../domain/administrator.ts'
import { createAdministrator } from '../domain/administrator-password.ts'
import { badInput } from '../domain/errors.ts'
import { inviteAdministrator } from '../domain/invitation.ts'
import { passwordErrors } from '../domain/password.ts'
import { setupPath } from '../http/paths.ts'
import { commandLine } from './actor.ts'
import { requireMigrated, withDatabase } from './database.ts'
import { localOrigin } from './listen.ts'
import { readServiceOrigin } from './service-origin.ts'
import { shellCommand } from './shell-command.ts'

function readAddress(given: string): string {
  const email = parseEmail(given)
  if (email === null) throw new InvalidArgumentError('Give an e-mail, such as ann@example.com.')
  return email
}

/** @returns the first line of the standard input */
async function readPassword(email: string): Promise<string> {
  const [password = ''] = (await text(process.stdin)).split(/\r?\n/, 1)
  const fieldErrors = passwordErrors(email, password, password)
  if (Object.keys(fieldErrors).length > 0) throw badInput(fieldErrors)
  return password
}

/**
 * @returns the link, and a sentence about its address when no running service and no `PUBLIC_URL` says what it is
 */
function linkTo(path: string, config: Config, serviceOrigin: string | null): string {
  const known = serviceOrigin ?? config.publicUrl
  if (known !== undefined) return `  ${known}${path}\n`
  return (
    `  ${localOrigin(config.host, config.port)}${path}\n\n` +
    'The address is that of HOST and PORT. If people reach the service at another one, put it in its place, or set PUBLIC_URL.'
  )
}

const create = new Command('create')
  .description('Make an administrator, or give one a new password: prints a one-time link, which holds for 24 hours.')
  .requiredOption('--email <address>', 'who it is', readAddress)
  .option('--password-stdin', 'set the password that stands on the standard input, and make no link', false)
  .action(async ({ email, passwordStdin }: { email: string; passwordStdin: boolean }) => {
    const config = readConfig(process.env)
    const password = passwordStdin ? await readPassword(email) : null
    const link = await withDatabase(config, async database => {
      await requireMigrated(database)
      if (password === null) {
        const secret = await inviteAdministrator(database.pool, commandLine(), email)
        return linkTo(`${setupPath}/${secret}`, config, database.attached ? readServiceOrigin(config.dataDir) : null)
      }
      await createAdministrator(database.pool, commandLine(), email, password)
      return null
    })
    if (link === null) console.log(`The password of ${email} is set.`)
    else console.log(`With this link ${email} chooses a password, once, within 24 hours:\n\n${link}`)
  })

const list = new Command('list')
  .description('List all administrators.')
  .option('--json', 'print JSON', false)
  .action(async ({ json }: { json: boolean }) => {
    const administrators = await withDatabase(readConfig(process.env), async database => {
      await requireMigrated(database)
      return listAdministrators(database.pool)
    })
    if (json) console.log(JSON.stringify(administrators.map(toJson)))
    else if (administrators.length === 0) {
      console.log(`There are no administrators. To make one: ${shellCommand('admin create --email you@example.com')}`)
    } else console.table(administrators.map(toJson))
  })

const remove = new Command('remove')
  .description('Remove an administrator; all sessions of the account end.')
  .argument('<email>', 'who it is', readAddress)
  .action(async (email: string) => {
    await withDatabase(readConfig(process.env), async database => {
      await requireMigrated(database)
      await removeAdministrator(database.pool, commandLine(), email)
    })
    console.log(`${email} is removed.`)
  })

/** `admin`: who may use the API access page. */
export const adminCommand = new Command('admin')
  .description('Make, list and remove administrators of the API access page.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(remove)

const toJson = (administrator: AdministratorRecord) => ({
  email: administrator.email,
  password: administrator.hasPassword,
  openid: administrator.hasOpenId,
  created_at: administrator.createdAt,
  signed_in_at: administrator.signedInAt,
})
