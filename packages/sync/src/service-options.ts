/** Defines the options for the address and the token of a service, which all commands that read a service share. */
import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { exitCodes, SyncError } from './errors.ts'

export interface ServiceOptions {
  url?: string
  allowHttp: boolean
  tokenFile?: string
  tenant: number[]
}

/** The environment variable that contains the token. */
export const tokenVariable = 'VOUCHER_GATEWAY_TOKEN'

/** The option `--url`. */
export const urlOption = () =>
  new Option('--url <address>', 'the service, such as https://vouchers.example.com')
    .env('VOUCHER_GATEWAY_URL')
    .argParser(readUrl)

/** The option `--tenant`. @param purpose the first words of the description, a verb in the imperative */
export const tenantOption = (purpose: string) =>
  new Option('--tenant <id...>', `${purpose} these tenants`)
    .argParser(readTenants)
    .default([], 'all tenants of the token')

/** The option `--list`. @param names the lists that the option accepts */
export const listOption = <Name extends string>(purpose: string, names: readonly Name[]) =>
  new Option('--list <name...>', `${purpose} these lists: ${names.join(', ')}`)
    .argParser((text: string, earlier: Name[] = []) => {
      const list = names.find(name => name === text)
      if (!list) throw new InvalidArgumentError(`Give one of: ${names.join(', ')}.`)
      return [...earlier, list]
    })
    .default([], 'all that the token may read')

/** The option `--allow-http`. */
export const allowHttpOption = () =>
  new Option('--allow-http', 'send the token unencrypted to an http:// address of another machine').default(false)

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new InvalidArgumentError('Give the address of the service, such as https://vouchers.example.com.')
  }
  return url.origin + url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/api\/external\/v1$/, '')
}

function readTenants(text: string, earlier: number[] = []): number[] {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(id)) throw new InvalidArgumentError('Give the id of a tenant, a whole number such as 7.')
  return [...earlier, id]
}

/**
 * Reads the token from a file; without a file, from the environment variable.
 *
 * @throws SyncError when there is no token
 */
export async function readToken(file: string | undefined): Promise<string> {
  const token = file === undefined ? process.env[tokenVariable] : await readTokenFile(file)
  if (token?.trim()) return token.trim()
  const where = file === undefined ? `set ${tokenVariable}, or name a file with --token-file` : `${file} is empty`
  throw new SyncError(exitCodes.usage, `There is no token: ${where}.`)
}

const readTokenFile = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: Error) => {
    throw new SyncError(exitCodes.usage, `The file of --token-file cannot be read: ${error.message}`, { cause: error })
  })

const isLoopback = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/**
 * Returns the address of the service. Ends the command with an error when there is no address, or when the token would
 * be sent unencrypted.
 */
export function requireUrl(command: Command, { url, allowHttp }: ServiceOptions): string {
  if (url === undefined) return command.error("error: required option '--url <address>' not specified")
  const { protocol, hostname, origin } = new URL(url)
  if (protocol === 'https:' || isLoopback(hostname) || allowHttp) return url
  return command.error(
    `error: ${origin} would get the token unencrypted, and what lies between could change the copy. ` +
      'Use https://, or --allow-http in a network that you trust.',
  )
}

/** Returns an abort signal that SIGINT or SIGTERM aborts. A second SIGINT or SIGTERM ends the process immediately. */
export function stopBySignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop.abort()
      for (const again of ['SIGINT', 'SIGTERM'] as const) process.once(again, () => process.exit(1))
    })
  }
  return stop.signal
}
