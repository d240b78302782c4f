import { METHODS } from 'node:http'
import { describe, expect, test } from 'vitest'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { createTokenSecret } from '../../src/domain/token/secret.ts'
import { tester } from '../support/builders.ts'
import { bearer, createWorld, flawOf, operations, perform, underTenant } from './support.ts'

const { client, build, pool, platform, tenantId, place, secret } = await createWorld()
const foreignTenant = await build.tenant({ name: 'Foreign' })

const expired = await build.token([tenantId])
await platform`update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'
           where id = ${expired.id}`
const revoked = await build.token([tenantId])
await revokeToken(pool, tester, revoked.id)

const badAuthorizations: Record<string, string | undefined> = {
  missing: undefined,
  'another scheme': `Basic ${Buffer.from('a:b').toString('base64')}`,
  'no token after the scheme': 'Bearer',
  malformed: 'Bearer nonsense',
  'two tokens': `Bearer ${secret} ${secret}`,
  unknown: `Bearer ${createTokenSecret()}`,
  mistyped: `Bearer ${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`,
  expired: `Bearer ${expired.secret}`,
  revoked: `Bearer ${revoked.secret}`,
}

describe.each(operations)('$name', operation => {
  const { method, permissions, body } = operation
  const ask = (
    headers: Record<string, string | undefined> = {},
    where = place,
    options: Parameters<typeof perform>[4] = {},
  ) => perform(client, operation, where, { ...bearer(secret), ...headers }, options)

  test('returns the same 401 for every invalid token, whatever else is wrong with the request', async () => {
    const seen = new Set<string>()
    for (const [form, authorization] of Object.entries(badAuthorizations)) {
      for (const accept of ['application/json', 'text/html']) {
        const answer = await ask({ authorization, accept })
        expect(flawOf(answer, 401), form).toBeNull()
        const { date, 'x-request-id': id, ...headers } = answer.headers
        seen.add(JSON.stringify([answer.text, headers]))
      }
    }
    expect([...seen]).toHaveLength(1)
    expect([...seen][0]).toContain('"www-authenticate":"Bearer"')
    expect([...seen][0]).not.toContain('ratelimit')
  })

  test('accepts the authorization scheme in upper or lower case', async () => {
    expect((await ask({ authorization: `bearer ${secret}` })).status).toBe(200)
    expect((await ask({ authorization: `BEARER  ${secret}` })).status).toBe(200)
  })

  test('rejects a token that lacks one of the permissions, even with all others', async () => {
    for (const missing of permissions) {
      const lacking = await build.token([tenantId], { permissions: permissionNames.filter(name => name !== missing) })
      const answer = await ask(bearer(lacking.secret))
      expect(flawOf(answer, 403)).toBeNull()
      expect(answer.body.message).toContain(missing)
    }
    const bare = await build.token([tenantId], { permissions })
    expect((await ask(bearer(bare.secret))).status).toBe(200)
  })

  test('requires application/json in Accept', async () => {
    for (const accept of [undefined, '', '*/*', 'text/html', 'application/*', 'application/json;q=0', ',;=', 'json']) {
      const answer = await ask({ accept })
      expect(flawOf(answer, 422), String(accept)).toBeNull()
      expect(Object.keys(answer.body.errors), String(accept)).toEqual(['accept'])
    }
    for (const accept of [
      'application/json; charset=utf-8',
      'text/html, application/json;q=0.1',
      'Application/JSON',
      '*/*;q=0.5,application/json;version=1',
    ]) {
      expect((await ask({ accept })).status, accept).toBe(200)
    }
  })

  test('returns 405 with Allow for every other method', async () => {
    for (const other of METHODS.filter(other => other !== method && other !== 'CONNECT')) {
      const answer = await ask({}, place, { method: other as 'GET' })
      expect(answer.headers.allow, other).toBe(method)
      if (other === 'HEAD') expect([answer.status, answer.text]).toEqual([405, ''])
      else expect(flawOf(answer, 405), other).toBeNull()
      expect((await ask({ authorization: undefined }, place, { method: other as 'GET' })).status, other).toBe(401)
    }
    const coded = { 'content-type': 'text/html', 'content-encoding': 'gzip' }
    expect(flawOf(await ask(coded, place, { method: 'PUT', payload: '{' }), 405), 'with any body').toBeNull()
  })

  if (body) {
    test('requires the Content-Type application/json', async () => {
      for (const type of [undefined, '', 'text/plain', 'application/jsonx', 'application/x-www-form-urlencoded']) {
        const answer = await ask({ 'content-type': type })
        expect(flawOf(answer, 422), type).toBeNull()
        expect(Object.keys(answer.body.errors), type).toEqual(['content-type'])
      }
      for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
        expect((await ask({ 'content-type': type })).status, type).toBe(200)
      }
      const both = await ask({ 'content-type': 'text/plain', accept: 'text/html' })
      expect(Object.keys(both.body.errors)).toEqual(['accept', 'content-type'])
    })
  }
})

describe.each(underTenant)('$name, below a tenant', operation => {
  const ask = (where: number | string, headers: Record<string, string> = {}, token = secret, query = '') =>
    perform(client, operation, { ...place, tenantId: where }, { ...bearer(token), ...headers }, { query })

  test('returns 404 for an unknown tenant, and 403 for a tenant that the token does not include', async () => {
    expect(flawOf(await ask(999_999), 404)).toBeNull()
    const rejected = await ask(foreignTenant)
    expect(flawOf(rejected, 403)).toBeNull()
    expect(rejected.text).not.toContain('Foreign')
  })

  test('returns 404 for an id that is not a plain positive integer', async () => {
    const never = '0 -1 +1 0x1 abc null 9007199254740992 99999999999999999999 %2F %zz %2e%2e %F0%9F%8E%81'.split(' ')
    const forms = (id: number | string) => [`0${id}`, `${id}.0`, `${id}e0`, `%20${id}`, `${id}%00`]
    for (const id of [...never, ...forms(tenantId)]) expect(flawOf(await ask(id), 404), id).toBeNull()
    const record = operation.path({ ...place, product: 'x', voucher: 'x', customer: 'x' }) !== operation.path(place)
    for (const id of record ? [...never, ...forms(place.product)] : []) {
      const where = { tenantId, product: id, voucher: id, customer: id }
      expect(flawOf(await perform(client, operation, where, bearer(secret)), 404), id).toBeNull()
    }
  })

  test('reports the first error in the order of R1', async () => {
    const powerless = await build.token([tenantId], { permissions: [] })
    const invalid = '?cursor=x&updated_since=x'
    expect((await ask(999_999, { accept: 'a/b' }, 'nonsense', invalid)).status).toBe(401)
    expect((await ask(999_999, { accept: 'a/b' }, powerless.secret, invalid)).status).toBe(422)
    expect((await ask(999_999, {}, powerless.secret, invalid)).status).toBe(404)
    expect((await ask(foreignTenant, {}, powerless.secret, invalid)).body.message).toContain('tenant')
    expect((await ask(tenantId, {}, powerless.secret, invalid)).body.message).toContain('permission')
  })
})
