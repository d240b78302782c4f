import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { verifyWebhook } from '../../packages/client/src/index.ts'
import { tenantLists } from '../../packages/client/src/reads.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { v1 } from '../../src/rest/v1/routes.ts'
import type { Parameter } from '../../tools/openapi/openapi.ts'
import { document, resolve, schemaErrors } from '../support/openapi.ts'

function* placesOf(part: unknown, place: string): Generator<[string, Record<string, unknown>]> {
  if (typeof part !== 'object' || part === null) return
  if (!Array.isArray(part)) yield [place, { ...part }]
  for (const [key, value] of Object.entries(part)) {
    if (key !== 'examples' && key !== 'example') yield* placesOf(value, `${place}/${key}`)
  }
}

describe('the document', () => {
  test('contains each route of v1 and of the bulk export, and no other route', () => {
    const wanted = [
      ...v1.operations.map(({ method, path }) => `${method} /v1${path}`),
      ...bulkExports.map(({ path }) => `GET /export/v1${path}`),
      'GET /.well-known/jwks.json',
    ].map(route => route.replaceAll(/:(\w+)/g, '{$1}'))
    const described = Object.entries(document.paths).flatMap(([path, { get, post }]) => [
      ...(get ? [`GET ${path}`] : []),
      ...(post ? [`POST ${path}`] : []),
    ])
    expect(described.sort()).toEqual(wanted.sort())
  })

  test('describes each operation, parameter, field, header and status, and gives each parameter an example', () => {
    const lacking: string[] = []
    for (const [place, part] of placesOf(document, '')) {
      const isNamed =
        /\/(properties|headers|responses|parameters|tags|securitySchemes)\/[^/]+$|\/(get|post|requestBody)$/
      if (!isNamed.test(place) || '$ref' in part) continue
      if (typeof part.description !== 'string' || !/[.?]$/.test(part.description)) lacking.push(place)
      // Programs that import the document send the examples of the parameters.
      if ('in' in part && 'schema' in part && !('example' in part)) lacking.push(`${place}: an example`)
    }
    expect(lacking).toEqual([])
  })

  test('has an event for each list of the client, and the client verifies the signature of each example', async () => {
    const lists = ['tenants.changed', ...Object.values(tenantLists).map(({ event }) => event)]
    expect(document.components.schemas.ListChangedEvent?.properties?.type).toMatchObject({ enum: lists })
    const secret = `whsec_${'A'.repeat(43)}=`
    const names: string[] = []
    for (const [name, { post }] of Object.entries(document.webhooks)) {
      const headers = (post?.parameters ?? []).map(parameter => resolve<Parameter>(parameter).name)
      const [media] = Object.values(post?.requestBody?.content ?? {})
      for (const { value } of Object.values(media?.examples ?? {})) {
        const [body, time] = [JSON.stringify(value), Math.floor(Date.now() / 1000)]
        const values = ['msg_1', String(time), new Webhook(secret).sign('msg_1', new Date(time * 1000), body)]
        const request = Object.fromEntries(headers.map((name, index) => [name, values[index]]))
        expect(await verifyWebhook(Buffer.from(body), request, secret)).toEqual(value)
        expect(schemaErrors(media?.schema ?? {}, value)).toBeNull()
        names.push(name)
      }
    }
    expect(names).toEqual(['listChanged', 'listChanged', 'listChanged', 'test'])
  })
})
