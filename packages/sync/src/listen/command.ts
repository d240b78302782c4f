import { randomBytes } from 'node:crypto'
import { Command, InvalidArgumentError, Option } from 'commander'
import { VoucherGateway } from '#client'
import { type ListName, listNames } from '../lists.ts'
import { escapeControls } from '../sentence.ts'
import { exitCodeOf, messageOf } from '../service-error.ts'
import * as service from '../service-options.ts'
import { followChanges } from './follow.ts'
import { type Attempt, Forwarder } from './forwarder.ts'
import { keyOf } from './message.ts'

/**
 * The environment variable with the secret. The secret is not an argument, because all users of the machine can see the
 * arguments of a process.
 */
const secretVariable = 'VOUCHER_GATEWAY_WEBHOOK_SECRET'

interface Options extends service.ServiceOptions {
  forwardTo: string
  secret?: string
  state?: string
  list: ListName[]
  json: boolean
}

function parseReceiver(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new InvalidArgumentError('Give an address such as http://localhost:3000/hook.')
  }
  return url.href
}

function readSecret(text: string): string {
  if (keyOf(text)) return text
  throw new InvalidArgumentError('Give whsec_ and 24 to 64 bytes in Base64, as Standard Webhooks has it.')
}

function describeAttempt({ type, tenant, problem, retryIn, status }: Attempt): string {
  if (problem === null) return `${type} of tenant ${tenant}: accepted with ${status}.`
  return `${type} of tenant ${tenant}: ${problem}; tries again in ${retryIn} s.`
}

/** The command `listen`: posts each change to an address of the user, signed like a webhook. */
export const listenCommand = new Command('listen')
  .description('Post the lists that change to a local address, as signed webhooks, without an address in the internet.')
  .addOption(service.urlOption())
  .addOption(service.allowHttpOption())
  .addOption(
    new Option('--forward-to <address>', 'the receiver, such as http://localhost:3000/hook')
      .argParser(parseReceiver)
      .makeOptionMandatory(),
  )
  .addOption(
    new Option('--secret <whsec>', 'the secret that signs the messages; default: a new one, which is printed')
      .env(secretVariable)
      .argParser(readSecret),
  )
  .option('--state <file>', 'keeps the position and a new secret, so that a restart misses nothing; default: begin now')
  .addOption(service.tenantOption('follow'))
  .addOption(service.listOption('follow', listNames))
  .option('--token-file <file>', 'the file that holds the token')
  .option('--json', 'print one JSON object for each attempt', false)
  .addHelpText(
    'after',
    `\nThe token is read from --token-file, or from ${service.tokenVariable}. The manual is at /docs/events of the service.\n` +
      '\nExit codes: 0 stopped by a signal; 1 error; 2 wrong usage; 3 the service refuses the token, a tenant or a\n' +
      'permission; 141 the reader of the output has left.',
  )
  .action(async (options: Options) => {
    const url = service.requireUrl(listenCommand, options)
    const print: Print = (event, fields, sentence) =>
      console.log(escapeControls(options.json ? JSON.stringify({ event, ...fields }) : sentence))
    const stop = service.stopBySignal()
    try {
      await listen(url, options, stop, print)
    } catch (error) {
      process.exitCode = exitCodeOf(error)
      console.error(escapeControls(messageOf(error)))
    }
  })

type Print = (event: string, fields: object, sentence: string) => void

async function listen(url: string, options: Options, stop: AbortSignal, print: Print): Promise<void> {
  const { forwardTo: to, state: file, allowHttp, tenant, list } = options
  // The module is loaded here, because parsing its schemas would delay each start of the program.
  const { createStateWriter, readState, toSelection } = await import('./state.ts')
  const selection = toSelection(tenant, list)
  const token = await service.readToken(options.tokenFile)
  const former = file === undefined ? null : await readState(file, selection)
  const made = options.secret === undefined ? (former?.secret ?? `whsec_${randomBytes(32).toString('base64')}`) : null
  const after = former?.position ?? null
  const client = new VoucherGateway({
    ...{ url, token, allowHttp, maxAttempts: Number.MAX_SAFE_INTEGER },
    onWait: (error, ms) => {
      const seconds = Math.ceil(ms / 1000)
      print('wait', { seconds, message: error.message }, `Waits ${seconds} s for the service: ${error.message}`)
    },
  })
  const writer = file === undefined ? null : createStateWriter(file)
  const forwarder = new Forwarder(
    {
      ...{ service: url, to, key: keyOf(options.secret ?? made ?? '') ?? Buffer.alloc(0) },
      report: attempt => print(attempt.problem === null ? 'accepted' : 'refused', attempt, describeAttempt(attempt)),
      save: position => writer?.write({ position, ...selection, secret: made }),
    },
    after,
  )
  let isStarted = false
  try {
    for await (const { changes, wholeBecause } of followChanges(client, {
      ...{ after, signal: stop },
      tenants: tenant.length > 0 ? tenant : undefined,
      lists: list.length > 0 ? list : undefined,
    })) {
      if (!isStarted) {
        const from = after?.serverTime ?? changes.serverTime
        const sentence = `Forwards the changes of ${url} after ${from} to ${to}${made ? `, signed with ${made}` : ''}.`
        print('start', { url, to, after: from, ...(made && { secret: made }) }, sentence)
        isStarted = true
      }
      if (wholeBecause !== null) {
        const sentence = `Posts an event for each list, which is to be read from its beginning: ${wholeBecause}.`
        print('full_pass', { reason: wholeBecause }, sentence)
      }
      forwarder.add(changes, wholeBecause !== null)
      writer?.throwIfFailed()
    }
  } finally {
    await forwarder.end()
    await writer?.end()
  }
}
