import { Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '#sync'
import { readConfig } from '../config/config.ts'
import type { Pool, Sql } from '../db/sql.ts'
import type { Actor } from '../domain/administrator/audit.ts'
import { type Delivery, listDeliveries } from '../domain/event/delivery.ts'
import {
  createEndpoint,
  deleteEndpoint,
  type Endpoint,
  endpointState,
  getEndpoint,
  listEndpoints,
  pauseEndpoint,
  pauseReasons,
  replayEndpoint,
  resumeEndpoint,
  rotateSecret,
} from '../domain/event/endpoint.ts'
import { webhookSecret } from '../domain/event/secret.ts'
import { type Instant, parseInstant } from '../domain/value/instant.ts'
import { describeLag, describeOutcome, isDelivered } from '../webhook/describe.ts'
import { sendTest } from '../webhook/send-test.ts'
import { withDatabase } from './database/database.ts'
import { commandLineActor } from './terminal/actor.ts'
import { jsonOption, printFacts, printList, printResult, printTable, readId } from './terminal/output.ts'
import { shellCommand } from './terminal/shell-command.ts'

interface Json {
  json: boolean
}

/** Runs work with the key from which the secrets of webhooks are derived. */
const withKey = <Result>(work: (pool: Pool, key: Buffer) => Promise<Result>) => {
  const config = readConfig(process.env)
  return withDatabase(async ({ pool }) => {
    // Imported here, because the module loads the GraphQL schema.
    const { readWebhookKey } = await import('../webhook/open-webhooks.ts')
    return work(pool, await readWebhookKey(config, pool))
  }, config)
}

function printSecret(json: boolean, sentence: string, endpoint: Endpoint, key: Buffer): void {
  const secret = webhookSecret(key, endpoint.id, endpoint.secretVersion)
  const shown = `${sentence} Copy its secret now: it is shown only once.\n\n  ${secret}\n`
  printResult(json, { ...toJson(endpoint), secret }, shown)
}

const createCommand = new Command('create')
  .description('Add a webhook to a token. Its secret is shown only once.')
  .addOption(new Option('--token <id>', 'the id of the token').argParser(readId).makeOptionMandatory())
  .requiredOption('--url <url>', 'the URL of the receiver')
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  webhook create --token 3 --url https://partner.example.com/hooks')
  .action(({ token, url, json }: Json & { token: number; url: string }) =>
    withKey(async (pool, key) => {
      const endpoint = await createEndpoint(pool, commandLineActor(), token, url)
      printSecret(json, `Webhook ${endpoint.id} is added to token ${token}.`, endpoint, key)
    }),
  )

const listCommand = new Command('list')
  .description('List the webhooks of all tokens, oldest first.')
  .addOption(new Option('--token <id>', 'only the webhooks of this token').argParser(readId))
  .addOption(jsonOption())
  .action(async ({ token, json }: Json & { token?: number }) => {
    const endpoints = await withDatabase(({ pool }) => listEndpoints(pool, token))
    const none = `There are no webhooks. To add one: ${shellCommand('webhook create --help')}`
    printList(json, endpoints, toJson, toRow, none)
  })

/** The number of deliveries that are shown. */
const maxShown = 20

/** A command for one webhook. */
const createEndpointCommand = (name: string, description: string) =>
  new Command(name).description(description).argument('<id>', 'the id of the webhook', readId).addOption(jsonOption())

const showCommand = createEndpointCommand('show', 'Show a webhook and its last deliveries.').action(
  (id: number, { json }: Json) =>
    withDatabase(async ({ pool }) => {
      const [endpoint, deliveries] = await Promise.all([getEndpoint(pool, id), listDeliveries(pool, id, maxShown)])
      if (json) return printResult(json, { ...toJson(endpoint), deliveries: deliveries.map(deliveryToJson) }, '')
      printFacts(toFacts(endpoint))
      if (deliveries.length === 0) return
      console.log()
      printTable(deliveries.map(deliveryToRow))
    }),
)

const testCommand = createEndpointCommand(
  'test',
  'Send a test, also to a paused webhook. Exits with 1 when it is not delivered.',
).action(async (id: number, { json }: Json) => {
  const { networks } = readConfig(process.env).webhook
  const answer = await withKey(async (pool, key) => {
    const { createPost } = await import('../webhook/post.ts')
    const { post, close } = createPost(key, networks)
    return sendTest(pool, post, commandLineActor(), await getEndpoint(pool, id)).finally(close)
  })
  const { status, error, durationMs } = answer
  printResult(json, { id, status, error, duration_ms: durationMs }, describeOutcome(answer))
  if (!isDelivered(answer)) process.exitCode = 1
})

/** A command that changes a webhook, and prints it. */
const createChangeCommand = (
  name: string,
  description: string,
  change: (sql: Sql, actor: Actor, id: number) => Promise<void>,
  sentence: string,
) =>
  createEndpointCommand(name, description).action((id: number, { json }: Json) =>
    withDatabase(async ({ pool }) => {
      await change(pool, commandLineActor(), id)
      printResult(json, toJson(await getEndpoint(pool, id)), `Webhook ${id} ${sentence}`)
    }),
  )

const pauseCommand = createChangeCommand(
  'pause',
  'Send nothing until it is resumed.',
  pauseEndpoint,
  'is paused. What changes now is sent when it is resumed.',
)

const resumeCommand = createChangeCommand(
  'resume',
  'Send what has waited, and all later changes.',
  resumeEndpoint,
  'is resumed. What has waited is sent now.',
)

/** Reads an instant, or a duration such as `2d` before now. @throws InvalidArgumentError */
function readFrom(text: string): Instant {
  const seconds = parseDuration(text)
  const from = Number.isNaN(seconds) ? parseInstant(text) : new Date(Date.now() - seconds * 1000).toISOString()
  if (from === null)
    throw new InvalidArgumentError('Give a time such as 2026-01-31T09:30:00Z, or how long ago, such as 2h.')
  return from
}

const replayCommand = createEndpointCommand(
  'replay',
  'Send an event again for each list that has changed since a time.',
)
  .addOption(
    new Option('--from <time>', 'the time, or how long ago, such as 2h').argParser(readFrom).makeOptionMandatory(),
  )
  .addHelpText('after', '\nExamples:\n  webhook replay 3 --from 2h\n  webhook replay 3 --from 2026-01-31T09:30:00Z')
  .action((id: number, { json, from }: Json & { from: Instant }) =>
    withDatabase(async ({ pool }) => {
      await replayEndpoint(pool, commandLineActor(), id, from)
      printResult(json, toJson(await getEndpoint(pool, id)), `Changes since ${from} are sent to webhook ${id} again.`)
    }),
  )

const rotateCommand = createEndpointCommand(
  'rotate',
  'Make a new secret, which is shown only once. For a day the former one also signs.',
).action((id: number, { json }: Json) =>
  withKey(async (pool, key) => {
    const endpoint = await rotateSecret(pool, commandLineActor(), id)
    printSecret(json, `The secret of webhook ${id} is rotated; for a day the former one also signs.`, endpoint, key)
  }),
)

const removeCommand = createEndpointCommand('delete', 'Delete a webhook with its log.').action(
  async (id: number, { json }: Json) => {
    await withDatabase(({ pool }) => deleteEndpoint(pool, commandLineActor(), id))
    printResult(json, { id, state: 'deleted' }, `Webhook ${id} is deleted.`)
  },
)

export const webhookCommand = new Command('webhook')
  .description('Add, list, show, test, pause, resume, replay, rotate and delete webhooks.')
  .addCommand(createCommand)
  .addCommand(listCommand)
  .addCommand(showCommand)
  .addCommand(testCommand)
  .addCommand(pauseCommand)
  .addCommand(resumeCommand)
  .addCommand(replayCommand)
  .addCommand(rotateCommand)
  .addCommand(removeCommand)

const toJson = (endpoint: Endpoint) => ({
  id: endpoint.id,
  token: endpoint.tokenId,
  url: endpoint.url,
  state: endpointState(endpoint),
  delivered_to: endpoint.deliveredTo,
  lag_seconds: endpoint.lag,
  failing_since: endpoint.failingSince,
  paused_at: endpoint.pausedAt,
  pause_reason: endpoint.pauseReason,
  secret_version: endpoint.secretVersion,
  created_at: endpoint.createdAt,
  created_by: endpoint.createdBy,
})

const deliveryToJson = (delivery: Delivery) => ({
  at: delivery.at,
  message_id: delivery.messageId,
  type: delivery.type,
  tenant: delivery.tenantId,
  status: delivery.status,
  error: delivery.error,
  duration_ms: delivery.durationMs,
})

const toRow = (endpoint: Endpoint) => ({
  id: String(endpoint.id),
  token: String(endpoint.tokenId),
  url: endpoint.url,
  state: endpointState(endpoint),
  deliveries: describeLag(endpoint),
})

const toFacts = (endpoint: Endpoint) => {
  const { tokenName, failingSince, pausedAt, pauseReason, createdAt, createdBy } = endpoint
  return {
    ...toRow(endpoint),
    token: `${tokenName} (${endpoint.tokenId})`,
    ...(failingSince && { 'failing since': failingSince.slice(0, 19) }),
    ...(pausedAt && pauseReason && { 'paused at': `${pausedAt.slice(0, 19)} ${pauseReasons[pauseReason]}` }),
    'delivered to': endpoint.deliveredTo,
    'created at': `${createdAt.slice(0, 19)} by ${createdBy}`,
  }
}

const deliveryToRow = (delivery: Delivery) => ({
  at: delivery.at.slice(0, 19),
  event: delivery.type,
  tenant: String(delivery.tenantId ?? ''),
  outcome: describeOutcome(delivery),
})
