/**
 * Makes the webhooks of the document: what the service sends to receivers. The events of all lists are one entry,
 * because they have the same fields. The test is a separate entry, so that no generator of code has to choose between
 * schemas.
 */
import { v1Path } from '../../src/http/paths.ts'
import type { RestVersion } from '../../src/rest/register.ts'
import { toExamples } from './examples.ts'
import { type JsonSchema, orNull, schemaRef } from './json-schema.ts'
import type { OperationObject, Parameter, PathItem, RequestBody, ResponseObject } from './openapi.ts'
import { instant, scalars } from './record-schemas.ts'

const gateway = 'https://gateway.example.com'
const bound = '2026-11-30T09:00:00.000000Z'

const header = (name: string, description: string, schema: JsonSchema, example: unknown): Parameter => ({
  ...{ name, in: 'header', required: true, description, schema, example },
})

/** The headers of a webhook, by the specification Standard Webhooks, as components of the document. */
export const webhookParameters: Record<string, Parameter> = {
  WebhookId: header(
    'webhook-id',
    'Identifies the event. A retry has the same id and the same body: ignore an id that you have seen.',
    { type: 'string' },
    'evt_2KWPBgLlAfxdpx2AI54pPJ85f4W',
  ),
  WebhookTimestamp: header(
    'webhook-timestamp',
    'When this try was signed, in seconds since 1970. Refuse one that differs from your clock by more than five minutes.',
    { type: 'integer', format: 'int64' },
    1796029800,
  ),
  WebhookSignature: header(
    'webhook-signature',
    'Signatures, separated by spaces: `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body` with the secret of the ' +
      'endpoint. There are several while the secret is rotated: one must match. Skip other versions than `v1`.',
    { type: 'string' },
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
}

/** Returns the types of events: `catalog_vouchers.changed` for `ListCatalogVouchers`. */
const eventTypes = ({ operations }: RestVersion): string[] =>
  operations.flatMap(({ name }) => {
    const [, list] = /^List(\w+)$/.exec(name) ?? []
    return list === undefined ? [] : [`${list.replaceAll(/(?!^)[A-Z]/g, '_$&').toLowerCase()}.changed`]
  })

/** Returns the schemas of the bodies of webhooks, by name. */
export const webhookSchemas = (version: RestVersion): Record<string, JsonSchema> => ({
  ListChangedEvent: toObject('A list of a tenant has changed. It is a hint: it has no record and no personal data.', {
    type: { type: 'string', enum: eventTypes(version), description: 'The list that has changed.' },
    tenant_id: { ...scalars.BigInt, description: 'The tenant of the list.' },
    updated_since: {
      ...orNull(instant),
      description:
        'The list and its removals since this instant have all that changed. It is the `server_time` of the event before, of ' +
        'the same list. Null when all of the list must be read.',
    },
    server_time: { ...instant, description: 'The service had published all changes up to this instant.' },
    url: {
      type: 'string',
      format: 'uri',
      description: 'The address of the list, with `updated_since`. It needs your token.',
    },
  }),
  TestEvent: toObject('A test that an administrator sends.', {
    type: { type: 'string', const: 'test', description: 'Nothing has changed.' },
  }),
})

const toObject = (description: string, properties: Record<string, JsonSchema>): JsonSchema => ({
  ...{ type: 'object', properties, required: Object.keys(properties), description },
})

const answer = (description: string): ResponseObject => ({ description, headers: {}, content: {} })

const responses: OperationObject['responses'] = {
  '2XX': answer('The event has arrived. Answer within 15 seconds, before you read the list.'),
  400: answer(
    'The signature, the time or the body is not valid. The service tries again, as after any other answer, redirects included.',
  ),
  410: answer('You want no more events. The service pauses the endpoint until an administrator resumes it.'),
  429: answer('You want the next try later: the service heeds `Retry-After`.'),
  503: answer('You cannot take events now: the service heeds `Retry-After`.'),
}

/** Returns the webhooks of the document, by name. */
export function describeWebhooks(): Record<string, PathItem> {
  const event = (path: string, type: string, since: string | null) => ({
    ...{ type, tenant_id: 2, updated_since: since, server_time: '2026-11-30T09:30:00.000000Z' },
    url: `${gateway}${v1Path}${path}${since === null ? '' : `?updated_since=${encodeURIComponent(since)}`}`,
  })
  return {
    listChanged: toItem({
      operationId: 'receiveListChanged',
      summary: 'A list has changed',
      description: `Sent to the endpoints of a token when a list that it may read has changed, at most once a second for a list. For one
endpoint and one list, events come in order, and each at least once. Read the list and its removals since \`updated_since\`.`,
      requestBody: toBody('ListChangedEvent', [
        {
          summary: 'Vouchers have changed',
          value: event('/tenants/2/sales/purchased-vouchers', 'purchased_vouchers.changed', bound),
        },
        { summary: 'Tenants have changed', value: event('/tenants', 'tenants.changed', bound) },
        { summary: 'After a restore', value: event('/tenants/2/catalog/vouchers', 'catalog_vouchers.changed', null) },
      ]),
    }),
    test: toItem({
      operationId: 'receiveTest',
      summary: 'A test',
      description: 'Sent when an administrator tests the endpoint. Its signature is like that of an event.',
      requestBody: toBody('TestEvent', [{ summary: 'A test', value: { type: 'test' } }]),
    }),
  }
}

const toBody = (schema: string, examples: { summary: string; value: unknown }[]): RequestBody => ({
  description: 'The event. Its signature is of these bytes: verify it before you parse them.',
  required: true,
  content: { 'application/json': { schema: schemaRef(schema), ...toExamples(examples) } },
})

const parameters = Object.keys(webhookParameters).map(name => ({ $ref: `#/components/parameters/${name}` }))

const toItem = (
  operation: Pick<OperationObject, 'operationId' | 'summary' | 'description' | 'requestBody'>,
): PathItem => ({
  post: { ...operation, tags: [], security: [], parameters, responses },
})
