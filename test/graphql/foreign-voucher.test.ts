import { expect, it } from 'vitest'
import { createPlanReader, stepsOf } from '../db/plans/plan.ts'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { capture, ofJobs, type Statement } from './statements.ts'

const { build, database, pool } = await startService()

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

/** Tokens, and the owners of vouchers that each token cannot resolve at the tenant `at`. */
const cases = [
  { what: 'a token of only the path tenant', grants: [at], foreign: [top, middle, below, sibling, aunt, far, depth3] },
  {
    what: 'a token that is authorised for tenants not related to the path tenant',
    grants: [at, sibling, aunt, whole(far)],
    foreign: [sibling, aunt, far, farBelow, depth3, top, middle, below],
  },
  { what: 'a grant above the path tenant', grants: [whole(middle)], foreign: [top, aunt, sibling, far] },
]

const nameByReference = (owner: number) => ({ voucher_reference: `ref-of-${owner}` })
const nameByQrToken = (owner: number) => ({ qr_token: `qr-of-${owner}` })

/** Returns the statements of a request with their parameters, without the statements whose results are cached. */
const comparableStatements = (statements: Statement[], owner: number) =>
  statements
    .filter(({ name }) => !name.startsWith('token.') && !ofJobs.includes(name))
    .filter(({ name, parameters }) => name !== 'tenant.paths' || parameters.join() !== `{${at}}`)
    .map(({ text, parameters }) => ({
      text,
      parameters: parameters.map(value => String(value).replace(new RegExp(`of-${owner}$`), 'of-X')),
    }))

it.each(cases)('$what: answer and statement are the same for a foreign voucher and an absent one', async given => {
  const { secret } = await build.token(given.grants)
  for (const nameOf of [nameByReference, nameByQrToken]) {
    // The cache of a new service contains no paths of tenants.
    const client = await createApp(database)
    const request = async (owner: number) => {
      let answer: unknown
      const statements = await capture(pool, async () => {
        const { status, headers, text } = await client.resolve(secret, at, nameOf(owner))
        const { date, 'x-request-id': id, 'ratelimit-remaining': left, 'ratelimit-reset': reset, ...others } = headers
        answer = { status, headers: others, text }
      })
      return { answer, statements: comparableStatements(statements, owner) }
    }
    const wanted = await request(absent)
    expect(JSON.stringify(wanted.answer)).toContain('No such voucher.')
    expect(wanted.statements.map(({ text }) => /\/\* (\S+)/.exec(text)?.[1])).toEqual(['resolution.find'])
    for (const owner of given.foreign) expect(await request(owner), `owner ${owner}`).toEqual(wanted)
  }
})

it('the database reads paths, grants and sources equally often for an absent voucher and a foreign one', async () => {
  const planReader = await createPlanReader(database, 'generic')
  const { app: _, ...client } = await createApp(planReader)
  const { secret } = await build.token([at])
  const readsOf = async (owner: number) => {
    const plans = await planReader.during(() => client.resolve(secret, at, { voucher_reference: `ref-of-${owner}` }))
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
