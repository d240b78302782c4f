import { beforeAll, describe, expect, it } from 'vitest'
import { createPlanReader, type Step } from '../db/plans/plan.ts'
import { type Answer, type Client, createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { capture, ofJobs, type Statement } from './statements.ts'

const { build, database } = await startService()

// top ┬ middle ┬ at ── below
//     │        └ sibling
//     └ aunt                    far ── farBelow
const top = await build.tenant()
const middle = await build.tenant({ parent_id: top })
const at = await build.tenant({ parent_id: middle })
const below = await build.tenant({ parent_id: at })
const sibling = await build.tenant({ parent_id: middle })
const aunt = await build.tenant({ parent_id: top })
const far = await build.tenant()
const farBelow = await build.tenant({ parent_id: far })
const depth3 = await build.tenant({ parent_id: farBelow })

for (const owner of [top, middle, at, below, sibling, aunt, far, farBelow, depth3]) {
  await build.voucher(owner, { reference: `REF-OF-${owner}`, qr_token: `qr-of-${owner}` })
}
const absent = 999_999

/** The owners of vouchers that a token cannot resolve at `at`. */
const cases = [
  { what: 'a token of the path tenant alone', grants: [at], foreign: [top, middle, below, sibling, aunt, far, depth3] },
  {
    what: 'a token that is authorised for tenants not related to the path tenant',
    grants: [at, sibling, aunt, whole(far)],
    foreign: [sibling, aunt, far, farBelow, depth3, top, middle, below],
  },
  { what: 'grants that do not reach below', grants: [top, at], foreign: [middle, below, sibling] },
  {
    what: 'a grant that reaches below the path tenant',
    grants: [whole(at)],
    foreign: [top, middle, sibling, farBelow],
  },
  { what: 'a grant above the path tenant', grants: [whole(middle)], foreign: [top, aunt, sibling, far] },
]

const names: Record<string, (owner: number) => { qrToken: string } | { voucherReference: string }> = {
  'a reference': owner => ({ voucherReference: `ref-of-${owner}` }),
  'a QR token': owner => ({ qrToken: `qr-of-${owner}` }),
  'a URL': owner => ({ qrToken: `https://example.com/v/?qr=qr-of-${owner}` }),
}

const document = `mutation ($input: ResolveVoucherInput!) { resolveVoucher(input: $input) { status } }`
const transports: Record<string, (client: Client, secret: string, name: object) => Promise<Answer>> = {
  REST: (client, secret, name) => {
    const snakeCase = Object.entries(name).map(([key, value]) => [key.replace(/[A-Z]/g, '_$&').toLowerCase(), value])
    return client.resolve(secret, at, Object.fromEntries(snakeCase))
  },
  GraphQL: (client, secret, name) => client.graphql(secret, document, { input: { tenantId: at, ...name } }),
}

/** The statements of a request and their parameters, without those for the cached token and path tenant. */
const comparable = (statements: Statement[], owner: number) =>
  statements
    .filter(({ name }) => !name.startsWith('token.') && !ofJobs.includes(name))
    .filter(({ name, parameters }) => name !== 'tenant.paths' || parameters.join() !== `{${at}}`)
    .map(({ text, parameters }) => ({
      text,
      parameters: parameters.map(value => String(value).replace(new RegExp(`of-${owner}$`), 'of-X')),
    }))

describe.each(Object.entries(transports))('over %s', (_transport, ask) => {
  describe.each(Object.entries(names))('by %s', (_what, nameOf) => {
    let client: Client

    beforeAll(async () => {
      // A new service has no paths of tenants in its cache.
      client = await createApp(database)
    })

    it.each(cases)('$what: a foreign voucher gets the answer of an absent one, with the same statement', async ({
      grants,
      foreign,
    }) => {
      const { secret } = await build.token(grants)
      const request = async (owner: number) => {
        const answers: unknown[] = []
        const statements = await capture(database.pool, async () => {
          const { status, headers, text } = await ask(client, secret, nameOf(owner))
          const { date, 'x-request-id': id, 'ratelimit-remaining': left, 'ratelimit-reset': reset, ...others } = headers
          answers.push({ status, headers: others, text: text.replace(/"(remaining|resetsIn)":\d+/g, '') })
        })
        return { answers, statements: comparable(statements, owner) }
      }
      const wanted = await request(absent)
      expect(JSON.stringify(wanted.answers)).toContain('No such voucher.')
      expect(wanted.statements.map(({ text }) => /\/\* (\S+)/.exec(text)?.[1])).toEqual(['resolution.find'])
      for (const owner of foreign) expect(await request(owner), `owner ${owner}`).toEqual(wanted)
    })
  })
})

it('the database reads paths, grants and sources for an absent voucher as it does for a foreign one', async () => {
  const teller = await createPlanReader(database, 'generic')
  const { app: _, ...client } = await createApp(teller)
  const { secret } = await build.token([at])
  const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)]
  const readsOf = async (owner: number) => {
    const plans = await teller.during(() => client.resolve(secret, at, { voucher_reference: `ref-of-${owner}` }))
    const read = plans.flatMap(({ name, root }) => (name === 'resolution.find' || name === null ? stepsOf(root) : []))
    const ofTable = (table: string) => read.filter(step => step['Relation Name'] === table)
    return {
      paths: ofTable('tenant_path').map(step => step['Actual Loops']),
      grants: ofTable('token_tenant').map(step => step['Actual Loops']),
      sources: ofTable('purchased_voucher').map(step => step['Actual Rows']),
    }
  }
  const reads = { paths: [1, 1], grants: [1], sources: [0] }
  for (const owner of [absent, depth3, sibling]) expect(await readsOf(owner)).toEqual(reads)
})
