import { text } from 'node:stream/consumers'
import { Command, InvalidArgumentError } from 'commander'
import { type Config, readConfig } from '../config/config.ts'
import {
  type AdministratorRecord,
  listAdministrators,
  parseEmail,
  removeAdministrator,
} from '../domain/administrator/administrator.ts'
import { createAdministrator } from '../domain/administrator/administrator-password.ts'
import { inviteAdministrator } from '../domain/administrator/invitation.ts'
import { passwordErrors } from '../domain/administrator/password.ts'
import { throwIfErrors } from '../domain/errors.ts'
import { setupPath } from '../http/paths.ts'
import { withDatabase } from './database/database.ts'
import { readDataFile } from './files/data-file.ts'
import { localOrigin } from './serve/listen.ts'
import { commandLineActor } from './terminal/actor.ts'
import { jsonOption, printList, printResult } from './terminal/output.ts'
import { shellCommand } from './terminal/shell-command.ts'

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

/** Returns the link, with a note when neither a running service nor `PUBLIC_URL` tells the origin of the link. */
function createLink(path: string, config: Config, serviceOrigin: string | null): { link: string; note: string } {
  const origin = serviceOrigin ?? config.publicUrl
  if (origin !== undefined) return { link: origin + path, note: '' }
  return {
    link: localOrigin(config.host, config.port) + path,
    note: '\nThe address is from HOST and PORT. If people use another address, replace it in the link, or set PUBLIC_URL.',
  }
}

const createCommand = new Command('create')
  .description('Create an administrator, or reset a password: prints a one-time link, which is valid for 24 hours.')
  .requiredOption('--email <address>', 'the e-mail of the administrator', readAddress)
  .option('--password-stdin', 'set the password from the standard input, and print no link', false)
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  admin create --email ada@example.com')
  .action(async ({ email, passwordStdin, json }: { email: string; passwordStdin: boolean; json: boolean }) => {
    const config = readConfig(process.env)
    const password = passwordStdin ? await readPassword(email) : null
    await withDatabase(async ({ pool, attached }) => {
      if (password !== null) {
        await createAdministrator(pool, commandLineActor(), email, password)
        printResult(json, { email, password: true }, `The password of ${email} is set.`)
        return
      }
      const path = `${setupPath}/${await inviteAdministrator(pool, commandLineActor(), email)}`
      const { link, note } = createLink(path, config, attached ? readDataFile(config.dataDir, 'origin') : null)
      const sentence = `This link lets ${email} choose a password, once, within 24 hours:\n\n  ${link}\n${note}`
      printResult(json, { email, link }, sentence)
    }, config)
  })

const listCommand = new Command('list')
  .description('List all administrators.')
  .addOption(jsonOption())
  .action(async ({ json }: { json: boolean }) => {
    const administrators = await withDatabase(({ pool }) => listAdministrators(pool))
    const creation = shellCommand('admin create --email you@example.com')
    printList(json, administrators, toJson, toRow, `There are no administrators. To create one: ${creation}`)
  })

const removeCommand = new Command('remove')
  .description('Remove an administrator, and end all sessions of the account.')
  .argument('<email>', 'the e-mail of the administrator', readAddress)
  .addOption(jsonOption())
  .action(async (email: string, { json }: { json: boolean }) => {
    await withDatabase(({ pool }) => removeAdministrator(pool, commandLineActor(), email))
    printResult(json, { email, removed: true }, `${email} is removed.`)
  })

export const adminCommand = new Command('admin')
  .description('Create, list and remove the administrators of the API access page.')
  .addCommand(createCommand)
  .addCommand(listCommand)
  .addCommand(removeCommand)

const toJson = (administrator: AdministratorRecord) => ({
  email: administrator.email,
  password: administrator.hasPassword,
  openid: administrator.hasOpenId,
  created_at: administrator.createdAt,
  signed_in_at: administrator.signedInAt,
})

const toRow = ({ email, hasPassword, hasOpenId, createdAt, signedInAt }: AdministratorRecord) => ({
  email,
  password: hasPassword ? 'yes' : 'no',
  openid: hasOpenId ? 'yes' : 'no',
  'created at': createdAt.slice(0, 19),
  'signed in at': signedInAt?.slice(0, 19) ?? 'never',
})
