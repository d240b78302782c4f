import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '#sync'
import { type Permission, permissionNames, permissions } from '../../domain/token/permission.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { readNumber } from '../terminal/output.ts'

/** Reads the id of a record. @throws InvalidArgumentError */
export function readId(text: string): number {
  const id = parseIdentifier(text)
  if (id === null) throw new InvalidArgumentError('Give the id of a record, a whole number such as 7.')
  return id
}

const readIds = (text: string, earlier: number[] = []) => [...earlier, readId(text)]

/** Reads a request rate. @throws InvalidArgumentError */
export const readRate = readNumber(/^[1-9]\d{0,6}$/, 'Give a whole number from 1 to 1,000,000, such as 600.')

/** Reads a duration, such as `90d`, `12h`, `30m` or `45s`. @returns seconds @throws InvalidArgumentError */
export function readDuration(text: string): number {
  const seconds = parseDuration(text)
  if (Number.isNaN(seconds)) throw new InvalidArgumentError('Give a duration, such as 90d, 12h, 30m or 45s.')
  return seconds
}

/** The properties of a token that the options of a command give. */
export interface TokenOptions {
  name?: string
  tenant?: number[]
  withDescendants?: boolean
  permission?: Permission[]
  contact?: string
}

/** Adds the options for the properties of a token, except its name and its rate. */
export const addTokenOptions = (command: Command): Command =>
  command
    .addOption(new Option('--tenant <id...>', 'the id of a tenant that the token may access').argParser(readIds))
    .option('--with-descendants', 'grant access to all tenants below these too')
    .addOption(new Option('--permission <permission...>', 'what the token may do').choices(permissionNames))
    .option('--contact <person>', 'the person at the partner who is responsible for the token')

/** The help that explains the permissions. */
export const permissionHelp = `\nPermissions:\n${permissionNames.map(name => `  ${name}: ${permissions[name]}`).join('\n')}`

/** The option for the end of a token. @param otherwise the end when the option is not given */
export const expiresIn = (otherwise: string) =>
  new Option('--expires-in <time>', `when the token ends, such as 90d or 12h (default: ${otherwise})`).argParser(
    text => new Date(Date.now() + readDuration(text) * 1000),
  )
