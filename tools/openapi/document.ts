/**
 * Makes the OpenAPI document of v1, of its bulk export and of webhooks. The sources of the document are the routes and
 * GraphQL documents that answer requests, so it always agrees with the service.
 */

import { defaultPageSize } from '../../src/domain/paging/page.ts'
import { rateWindowSeconds } from '../../src/domain/rate/rate.ts'
import { maxLengths } from '../../src/domain/record/voucher-name.ts'
import { bodyLimit } from '../../src/http/authenticated.ts'
import { exportPath } from '../../src/http/paths.ts'
import type { RestVersion } from '../../src/rest/register.ts'
import { bodySchemas } from './bodies.ts'
import { errorComponents } from './error-responses.ts'
import type { RecordedAnswer } from './examples.ts'
import { addExports } from './export-operations.ts'
import { headerComponents } from './headers.ts'
import { toJsonSchema } from './json-schema.ts'
import { addKeySet } from './key-set-operation.ts'
import { addOperation, bearerScheme, type DocumentParts } from './operations.ts'
import { parameterComponents, permissionList } from './parameters.ts'
import { describeWebhooks, webhookParameters, webhookSchemas } from './webhooks.ts'

/** The common prefix of the paths of the document. */
const server = '/api/external'

const description = `Read access to the voucher products, purchased vouchers and marketing signups of a gift voucher
platform, and the resolution of a voucher before it is redeemed.

**Requests.** Every request needs \`Authorization: Bearer <token>\` and \`Accept: application/json\` (an export may do
without it); one with a body also needs \`Content-Type: application/json\`. A parameter that is empty or the word \`null\` counts as absent. Give each
parameter once; unknown ones are ignored.

**Responses.** A field that may be null is always there. Any other field is left out when it has no value. Money is a
number in major units, exact to the minor unit of its currency. Times are UTC with six fraction digits. Ids are numbers
up to 2^53 − 1. Fields may be added: ignore fields that you do not know.

**Events.** The service can send webhooks when lists change, by the specification [Standard Webhooks](https://www.standardwebhooks.com):
see *Webhooks* below, and the guide [Events](/docs/events).

**Removals.** The lists have existing records only. The GraphQL endpoint of the service, \`/graphql\`, also reports the
records that left a list: \`tenant { removals }\`.

**Limits.** A page holds at most ${defaultPageSize} records. A token may perform 120 operations in ${rateWindowSeconds} seconds from
each address, unless it has a limit of its own. A body has at most ${bodyLimit / 1024} KiB, a \`qr_token\` at most
${maxLengths.qrToken} characters, a \`voucher_reference\` at most ${maxLengths.voucherReference}.

**Errors.** Every error has a JSON body with \`message\`; status 422 adds \`errors\`, by field. The order of the checks:
the token (401), the rate (429), the headers (422), the tenant (404, 403), the permission (403), the query or body (422),
the record (404).

**Permissions** of a token:

${permissionList}`

/** The document. */
export type OpenApiDocument = ReturnType<typeof describeService>

/**
 * Makes the document.
 *
 * @param version v1's route table
 * @param answers real answers over the demo data, as examples
 */
export function describeService(version: RestVersion, answers: readonly RecordedAnswer[]) {
  const parts: DocumentParts = { paths: {}, schemas: {}, tags: [] }
  for (const operation of version.operations) {
    addOperation(parts, version.path.slice(server.length), operation, answers)
  }
  addExports(parts, exportPath.slice(server.length), answers)
  addKeySet(parts)
  const { paths, schemas, tags } = parts
  for (const [name, schema] of Object.entries(bodySchemas)) schemas[name] = toJsonSchema(schema)
  Object.assign(schemas, webhookSchemas(version))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Voucher Gateway',
      version: '1.0.0',
      summary: 'External integration API of a gift voucher service.',
      description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: server, description: 'The service that serves this document.' }],
    security: [{ [bearerScheme]: [] }],
    tags,
    paths,
    webhooks: describeWebhooks(),
    components: {
      securitySchemes: {
        [bearerScheme]: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token that an administrator created on the API access page of the service.',
        },
      },
      parameters: { ...parameterComponents, ...webhookParameters },
      headers: headerComponents,
      schemas,
      responses: errorComponents(answers.filter(({ status }) => status >= 400)),
    },
  }
}
