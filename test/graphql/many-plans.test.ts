import { describe, expect, it } from 'vitest'
import { createManyTenants } from './many-tenants.ts'
import type { Statement } from './statements.ts'

const { database, run } = await createManyTenants()

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Scan Direction'?: string
  Plans?: Plan[]
}

describe.each([
  ['purchasedVouchers', 'purchased_voucher_list', 'voucher'],
  ['catalogVouchers', 'product_list', 'product'],
  ['marketingSignups', 'marketing_signup_list', 'signup'],
  ['removals', 'removal_pkey', 'removal'],
])('%s of many tenants', (field, index, noun) => {
  const planOf = async ({ text }: Statement): Promise<Plan[]> => {
    const [row] = await database.loader.unsafe(`explain (generic_plan, format json) ${text}`)
    const flatten = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flatten)]
    return flatten(row!['QUERY PLAN'][0].Plan)
  }
  const statementFor = async (args: string, name: string) => {
    const { statements } = await run(`{ tenants(first: 9) { nodes { ${field}(${args}) { totalCount } } } }`)
    return statements.find(statement => statement.name === name)!
  }

  // The record of a removal is looked up by its key, or by those of the tenants above it.
  const isOfRecord = (step: Plan) => noun === 'removal' && !step['Index Cond']?.includes('wanted.')

  it.each([
    ['first: 1', 'Forward'],
    ['last: 1', 'Backward'],
  ])('are read with %s as one range of the index each', async (args, direction) => {
    const plan = await planOf(await statementFor(args, `${noun}.list_of_tenants`))
    const scans = plan.filter(
      step => step['Node Type'].includes('Scan') && step['Node Type'] !== 'Function Scan' && !isOfRecord(step),
    )
    expect(scans).toMatchObject([{ 'Index Name': index, 'Scan Direction': direction }])
    expect(scans[0]!['Index Cond']).toMatch(/tenant_id = wanted\.tenant_id.*ROW\(.*\) > ROW\(.*ROW\(.*\) < ROW\(/)
    // Only the first few of each type of removal are sorted.
    const sorts = plan.filter(step => step['Node Type'] === 'Sort')
    expect(sorts).toHaveLength(noun === 'removal' ? 1 : 0)
  })

  it('are counted by the index', async () => {
    const plan = await planOf(await statementFor('first: 1', `${noun}.count`))
    const scans = plan.filter(step => step['Index Name'] && !isOfRecord(step))
    // Removals of all types can be counted by either of their indexes.
    expect(scans).toMatchObject([{ 'Index Name': noun === 'removal' ? expect.stringMatching(/^removal_/) : index }])
    expect(scans[0]!['Index Cond']).toContain('tenant_id = wanted.tenant_id')
    const passing = plan.filter(step => step['Node Type'] === 'Seq Scan')
    // The tables of the records are small here.
    expect(passing.filter(step => noun !== 'removal' || step['Relation Name'] === 'removal')).toEqual([])
  })
})
