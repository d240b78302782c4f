/** Adopts Medusa while its server sells and redeems gift cards. Packages: npm install --prefix test/adopt/medusa */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { afterFile } from '../../support/cleanups.ts'
import { addressUrl, connect } from '../../support/connect.ts'
import { directoryPlace, readService } from '../../support/copies.ts'
import { createEmptyDatabase } from '../../support/database.ts'
import { createDirectory } from '../../support/directory.ts'
import { packagedPrograms, startPackaged } from '../../support/packaged-postgres.ts'
import { run, serve } from '../../support/process.ts'
import { sync } from '../../support/reference-sync.ts'
import { startMedusa } from './shop.ts'

const mapping = join(import.meta.dirname, 'mapping')

/** Regions of the shop, with the value of 2,500 minor units in major units of each currency. */
const regions = [
  { region: 'reg_eu', currency: 'EUR', unit: 25 },
  { region: 'reg_jp', currency: 'JPY', unit: 2500 },
  { region: 'reg_kw', currency: 'KWD', unit: 2.5 },
]

const containing = (object: object): { asymmetricMatch: (other: unknown) => boolean } => expect.objectContaining(object)

/**
 * Creates the database of Medusa and the environment of commands. When replicated, the gateway's database is on another
 * server.
 */
async function createDatabases(isReplicated: boolean) {
  const gateway = await createEmptyDatabase()
  if (!isReplicated) return { address: gateway.address, environment: { DATABASE_URL: gateway.url } }
  const { stop, ...address } = await startPackaged({ wal_level: 'logical', fsync: 'off' })
  afterFile(stop)
  return { address, environment: { DATABASE_URL: gateway.url, PLATFORM_URL: addressUrl(address) } }
}

test.each([
  ['in its own database', false],
  ['replicated into another database', true],
])('%s', { timeout: 600_000 }, async (_, isReplicated) => {
  const { address, environment } = await createDatabases(isReplicated)
  const platform = connect(address, { max: 2, statementTimeoutMs: 60_000 })
  afterFile(() => platform.end({ timeout: 1 }))
  const shop = await startMedusa(address)
  await platform.unsafe(readFileSync(join(import.meta.dirname, 'rows.sql'), 'utf8')).simple()
  /** Dumps the catalog of Medusa's database without the lines that differ in each dump. */
  const readCatalog = (...options: string[]) =>
    execFileSync(
      join(packagedPrograms(), 'pg_dump'),
      ['--schema-only', ...options, '-h', address.host, '-p', `${address.port}`, '-U', address.user, address.database],
      { encoding: 'utf8' },
    ).replaceAll(/^\\(un)?restrict .*$/gm, '')

  const command = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(words, environment)
    expect(code, stdout + stderr).toBe(0)
    return stdout
  }

  // The files of `adopt init` lack two constants (see docs/adopting.md).
  const drafted = join(createDirectory(), 'mapping')
  await command('adopt', 'init', drafted)
  const checked = await run(['adopt', 'check', drafted, '--json'], { DATABASE_URL: addressUrl(address) })
  const { findings }: { findings: { level: string }[] } = JSON.parse(checked.stdout)
  const problem = expect.stringMatching(/currency is null$/)
  expect(findings.filter(({ level }) => level === 'error')).toMatchObject([
    { file: 'product.sql', problem },
    { file: 'variant.sql', problem },
  ])

  if (isReplicated) {
    // The check must name the one table that has no primary key.
    const { stdout } = await run(['adopt', 'check', mapping], environment)
    const [, cure = ''] = /Run at the platform: (alter table .*;)/.exec(stdout) ?? []
    await platform.unsafe(cure)
  }
  const catalog = readCatalog()
  expect(await command('adopt', 'check', mapping)).toContain('0 errors,')

  /** The fields that v1 must return for each gift card that the test sells. */
  const sold: object[] = []
  /** Sells gift cards of 10,000 minor units, and redeems a quarter of each card one to four times. */
  async function sell(count: number) {
    for (let n = 0; n < count; n++) {
      const { region, currency, unit } = regions[n % regions.length]!
      const { id } = await shop.order(region, 'variant_1_4')
      const [{ code = '' } = {}] = await platform<{ code: string }[]>`select code from gift_card where order_id = ${id}`
      const redemptions = 1 + (n % 4)
      for (let redeemed = 0; redeemed < redemptions; redeemed++) {
        expect(await shop.order(region, 'variant_21_1', code)).toMatchObject({ gift_card_total: 2500, total: 0 })
      }
      sold.push({
        ...{ reference: code, currency, initial_balance: 4 * unit, current_balance: (4 - redemptions) * unit },
        ...{ purchase_value: 4 * unit, product_title: 'Gift card 1', void: false },
      })
    }
  }

  await Promise.all([command('adopt', 'apply', mapping), sell(4), sell(4)])
  const slots = () => platform`select from pg_replication_slots`
  if (isReplicated) {
    expect(readCatalog('--no-publications')).toBe(catalog)
    expect(await slots()).toHaveLength(1)
  }

  const permissions = ['--permission', 'view_vouchers', 'view_orders', 'export_customer_information']
  const created = await command('token', 'create', '--name', 'Partner', '--tenant', '1', ...permissions)
  const [secret = ''] = /vgw_\w+/.exec(created) ?? []
  const service = await serve({ ...environment, RATE_LIMIT_PER_MINUTE: '1000000' })
  const { origin } = service
  const copy = directoryPlace()
  const syncCopy = async () => expect(await sync(origin, secret, copy)).toMatchObject({ code: 0 })

  let isSelling = true
  const selling = Promise.all([sell(8), sell(8)]).finally(() => {
    isSelling = false
  })
  while (isSelling) await syncCopy()
  await selling

  await shop.admin('POST', 'store', { name: 'Seaside Hotel' })
  await shop.admin('POST', 'product-categories/pcat_1', { name: 'Wellness' })
  await shop.admin('POST', 'products/prod_1', { title: 'Spa day' })
  await shop.admin('POST', 'products/prod_1/variants/variant_1_1', { prices: [{ currency_code: 'eur', amount: 1250 }] })
  await shop.admin('POST', 'customers/cus_1', { metadata: { newsletter: true } })
  await shop.admin('POST', 'gift-cards/gift_ever', { is_disabled: true })
  await shop.admin('DELETE', 'gift-cards/gift_free')
  const canceled = await shop.order('reg_eu', 'variant_2_3')
  await shop.admin('POST', `orders/${canceled.id}/cancel`)
  const shown: object[] = [
    ...sold,
    { tenant_id: 1, name: 'Seaside Hotel' },
    {
      ...{ title: 'Spa day', from_price: 12.5, slug: 'product-1' },
      category_refs: expect.arrayContaining([expect.objectContaining({ title: 'Wellness' })]),
    },
    { email: 'guest1@example.com', marketing_opted: true, countryiso2: 'AT' },
    { reference: 'EVER', void: true },
    { initial_balance: 75, void: true },
  ]
  const deleted = { reference: 'FREE' }
  const readMissing = async () => {
    const records = Object.values(await readService(origin, secret))
    return [...shown, deleted].filter(object => !records.some(record => containing(object).asymmetricMatch(record)))
  }
  await expect.poll(readMissing, { timeout: 60_000 }).toEqual([deleted])

  await syncCopy()
  expect(await copy.read()).toEqual(await readService(origin, secret))
  expect(await command('verify')).toMatch(/^The records and figures of .* agree with the sources\.$/m)

  await service.stop('SIGTERM')
  await command('adopt', 'remove', '--yes')
  expect(readCatalog()).toBe(catalog)
  expect(await slots()).toEqual([])
  await sell(1)
})
