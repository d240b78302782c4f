import { text } from 'node:stream/consumers'
import { Command, InvalidArgumentError } from 'commander'
import { type Config, readConfig } from '../config.ts'
import {
  type AdministratorRecord,
  listAdministrators,
  readEmail,
  removeAdministrator,
} from '../domain/administrator.ts'
import { createAdministrator } from '../domain/administrator-password.ts'
import { badInput } from '../domain/errors.ts'
import { invite } from '../domain/invitation.ts'
import { passwordFaults } from '../domain/password.ts'
import { setupPath } from '../http/paths.ts'
import { commandLine } from './actor.ts'
import { requireMigrated, withDatabase } from './database.ts'

function readAddress(given: string): string {
  const email = readEmail(given)
  if (email === null) throw new InvalidArgumentError('Give an e-mail, such as ann@example.com.')
  return email
}

/** @returns the first line of the standard input */
async function readPassword(email: string): Promise<string> {
  const [password = ''] = (await text(process.stdin)).split(/\r?\n/, 1)
  const faults = passwordFaults(email, password, password)
  if (Object.keys(faults).length > 0) throw badInput(faults)
  return password
}

const originOf = ({ publicUrl, port }: Config) => publicUrl ?? `http://localhost:${port}`

const create = new Command('create')
  .description('Make an administrator, or give one a new password: prints a one-time link, which holds for 24 hours.')
  .requiredOption('--email <address>', 'who it is', readAddress)
  .option('--password-stdin', 'set the password that stands on the standard input, and make no link', false)
  .action(async ({ email, passwordStdin }: { email: string; passwordStdin: boolean }) => {
    const config = readConfig(process.env)
    const password = passwordStdin ? await readPassword(email) : null
    const secret = await withDatabase(config, async database => {
      await requireMigrated(database)
      if (password === null) return invite(database.pool, commandLine(), email)
      await createAdministrator(database.pool, commandLine(), email, password)
      return null
    })
    if (secret === null) console.log(`The password of ${email} is set.`)
    else {
      console.log(
        `With this link ${email} chooses a password, once, within 24 hours:\n\n  ${originOf(config)}${setupPath}/${secret}\n`,
      )
    }
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
      console.log('There are no administrators. Make one with: admin create --email you@example.com')
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
