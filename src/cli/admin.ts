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
import { throwIfErrors } from '../domain/errors.ts'
import { inviteAdministrator } from '../domain/invitation.ts'
import { passwordErrors } from '../domain/password.ts'
import { setupPath } from '../http/paths.ts'
import { commandLine } from './actor.ts'
import { withDatabase } from './database.ts'
import { localOrigin } from './listen.ts'
import { readServiceOrigin } from './service-origin.ts'
import { shellCommand } from './shell-command.ts'

function readAddress(given: string): string {
  const email = parseEmail(given)
  if (email === null) throw new InvalidArgumentError('Give an e-mail, such as ann@example.com.')
  return email
}

/** @returns the password in the first line of the standard input */
async function readPassword(email: string): Promise<string> {
  const [password = ''] = (await text(process.stdin)).split(/\r?\n/, 1)
  throwIfErrors(passwordErrors(email, password, password))
  return password
}

/** @returns the link; with a note when neither a running service nor `PUBLIC_URL` gives its origin */
function formatLink(path: string, config: Config, serviceOrigin: string | null): string {
  const origin = serviceOrigin ?? config.publicUrl
  if (origin !== undefined) return `  ${origin}${path}\n`
  return (
    `  ${localOrigin(config.host, config.port)}${path}\n\n` +
    'The address is from HOST and PORT. If people use another address, replace it in the link, or set PUBLIC_URL.'
  )
}

const create = new Command('create')
  .description('Create an administrator, or reset a password: prints a one-time link, which is valid for 24 hours.')
  .requiredOption('--email <address>', 'the e-mail of the administrator', readAddress)
  .option('--password-stdin', 'set the password from the standard input, and print no link', false)
  .action(async ({ email, passwordStdin }: { email: string; passwordStdin: boolean }) => {
    const config = readConfig(process.env)
    const password = passwordStdin ? await readPassword(email) : null
    const message = await withDatabase(config, async ({ pool, attached }) => {
      if (password !== null) {
        await createAdministrator(pool, commandLine(), email, password)
        return `The password of ${email} is set.`
      }
      const path = `${setupPath}/${await inviteAdministrator(pool, commandLine(), email)}`
      const link = formatLink(path, config, attached ? readServiceOrigin(config.dataDir) : null)
      return `This link lets ${email} choose a password, once, within 24 hours:\n\n${link}`
    })
    console.log(message)
  })

const list = new Command('list')
  .description('List all administrators.')
  .option('--json', 'print JSON', false)
  .action(async ({ json }: { json: boolean }) => {
    const administrators = await withDatabase(readConfig(process.env), ({ pool }) => listAdministrators(pool))
    if (json) console.log(JSON.stringify(administrators.map(toJson)))
    else if (administrators.length === 0) {
      console.log(`There are no administrators. To create one: ${shellCommand('admin create --email you@example.com')}`)
    } else console.table(administrators.map(toJson))
  })

const remove = new Command('remove')
  .description('Remove an administrator, and end all sessions of the account.')
  .argument('<email>', 'the e-mail of the administrator', readAddress)
  .action(async (email: string) => {
    await withDatabase(readConfig(process.env), ({ pool }) => removeAdministrator(pool, commandLine(), email))
    console.log(`${email} is removed.`)
  })

/** The command `admin`: the administrators, who use the API access page. */
export const adminCommand = new Command('admin')
  .description('Create, list and remove the administrators of the API access page.')
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
