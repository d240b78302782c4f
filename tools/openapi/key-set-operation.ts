/** Makes the operation that reads the public keys of redemption tokens. It is not below the path of v1. */
import { z } from 'zod'
import { maxAgeSeconds, type PublicKey } from '../../src/domain/record/signing-key.ts'
import { keySetPath } from '../../src/http/paths.ts'
import { constant, header } from './headers.ts'
import { schemaRef, toJsonSchema } from './json-schema.ts'
import type { DocumentParts } from './operations.ts'
import { requestIdParameter } from './parameters.ts'

const coordinate = (name: string) =>
  z.string().meta({ description: `The coordinate ${name} of the point, 32 bytes in base64url.` })

const publicKey = z
  .object({
    crv: z.literal('P-256').meta({ description: 'The curve.' }),
    kty: z.literal('EC').meta({ description: 'The type of the key: elliptic curve.' }),
    x: coordinate('x'),
    y: coordinate('y'),
    kid: z.string().meta({ description: 'The id of the key, which the header of a token names.' }),
    alg: z.literal('ES256').meta({ description: 'The algorithm of the signature.' }),
    use: z.literal('sig').meta({ description: 'The key checks signatures.' }),
  })
  .meta({ description: 'A public key (RFC 7517).' }) satisfies z.ZodType<PublicKey>

const keySet = z
  .object({ keys: z.array(publicKey).meta({ description: 'The present, the next and former keys.' }) })
  .meta({ description: 'The public keys of redemption tokens (RFC 7517).' })

const headers = {
  'X-Request-Id': { $ref: '#/components/headers/XRequestId' },
  'Access-Control-Allow-Origin': header('Pages of all origins may read it.', constant('*')),
  'Cache-Control': header('How long a cache may keep it, in seconds.', constant(`public, max-age=${maxAgeSeconds}`)),
  ETag: header('Identifies this state of the keys.', { type: 'string' }, 'W/"xMpCOKC5I4INzFCab3WEmw"'),
}

const description = `The keys with which a redemption checks a \`redemption_token\`, a JWT that is signed with ES256. A new key is here ten minutes
before its first token, and a former one until its last token has ended. Needs no token, and costs nothing of the rate.`

/** Adds the operation to the paths, and its schema to the schemas. Its tag is the tag of resolutions. */
export function addKeySet({ paths, schemas }: Pick<DocumentParts, 'paths' | 'schemas'>): void {
  schemas.KeySet = toJsonSchema(keySet)
  paths[keySetPath] = {
    servers: [{ url: '/', description: 'The origin of the service.' }],
    get: {
      operationId: 'readKeySet',
      tags: ['Redemptions'],
      summary: 'Read the keys of redemption tokens',
      description,
      security: [],
      parameters: [requestIdParameter],
      responses: {
        200: { description: 'The keys.', headers, content: { 'application/json': { schema: schemaRef('KeySet') } } },
        304: { description: 'They are as `If-None-Match` names them.', headers, content: {} },
        400: { $ref: '#/components/responses/BadRequest' },
        408: { $ref: '#/components/responses/RequestTimeout' },
        431: { $ref: '#/components/responses/RequestHeaderFieldsTooLarge' },
      },
    },
  }
}
