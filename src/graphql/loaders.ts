import DataLoader from 'dataloader'
import type { Sql } from '../db/connect.ts'
import type { Caller } from '../domain/caller.ts'
import { type Category, listCategoriesOf } from '../domain/category.ts'
import { exportOf } from '../domain/export.ts'
import { readSyncState, type SyncState } from '../domain/full-pass.ts'
import type { Instant } from '../domain/instant.ts'
import { type Page, type Range, upTo } from '../domain/page.ts'
import { type Product, products } from '../domain/product.ts'
import { type Removal, type RemovalResource, removalResources, removalsOf } from '../domain/removal.ts'
import type { MarketingSignup } from '../domain/signup.ts'
import { findTenants, listTenants, type Tenant } from '../domain/tenant.ts'
import type { CountWanted, PageWanted, RecordWanted, TenantTable } from '../domain/tenant-table.ts'
import { listVariantsOf, type Variant } from '../domain/variant.ts'
import { type PurchasedVoucher, vouchers } from '../domain/voucher.ts'
import type { Watermark } from '../domain/watermark.ts'
import { BatchChildren } from './children.ts'

/** A page, and the watermark up to which it was read. */
export interface Reading<Row> {
  page: Page<Row>
  serverTime: Instant
}

/** What loaders read through, and for whom. */
interface Reader {
  sql: Sql
  watermark: Watermark
  caller: Caller
}

/** Pages, read in statements of their own, which begin after the watermark is known. */
const loadPages = <Wanted extends { range: Range }, Row>(
  { watermark }: Reader,
  read: (wanted: readonly Wanted[]) => Promise<Page<Row>[]>,
) =>
  new DataLoader<Wanted, Reading<Row>>(
    async wanted => {
      const serverTime = await watermark.read()
      const pages = await read(wanted.map(one => ({ ...one, range: upTo(serverTime, one.range) })))
      return pages.map(page => ({ page, serverTime }))
    },
    { cache: false },
  )

/** What tenants hold of a kind. Nothing is kept: what is asked for twice is read twice, and counted as often. */
class TenantTableLoaders<Row> {
  readonly #reader: Reader
  readonly #table: TenantTable<Row>
  #pages?: DataLoader<PageWanted, Reading<Row>>
  #counts?: DataLoader<CountWanted, number>
  #records?: DataLoader<RecordWanted, Row | null>

  constructor(reader: Reader, table: TenantTable<Row>) {
    this.#reader = reader
    this.#table = table
  }

  get pages() {
    this.#pages ??= loadPages(this.#reader, wanted => this.#table.pages(this.#reader.sql, wanted))
    return this.#pages
  }

  get counts() {
    this.#counts ??= new DataLoader(wanted => this.#table.counts(this.#reader.sql, wanted), { cache: false })
    return this.#counts
  }

  get records() {
    this.#records ??= new DataLoader(wanted => this.#table.records(this.#reader.sql, wanted), { cache: false })
    return this.#records
  }
}

/**
 * Reads for all fields of a request that ask in the same turn, however many tenants or products they stand below, in
 * one statement. Each loader is made when it is first asked for: most requests need one or two.
 */
export class Loaders {
  readonly #reader: Reader
  #tenantPages?: DataLoader<{ range: Range }, Reading<Tenant>>
  #tenant?: DataLoader<number, Tenant | null>
  #categories?: BatchChildren<Product, Category>
  #variants?: BatchChildren<Product, Variant>
  #products?: TenantTableLoaders<Product>
  #vouchers?: TenantTableLoaders<PurchasedVoucher>
  #signups?: TenantTableLoaders<MarketingSignup>
  #removals?: Map<string, TenantTableLoaders<Removal>>
  #syncState?: DataLoader<object, SyncState>

  constructor(reader: Reader) {
    this.#reader = reader
  }

  /** Pages of the tenants that the caller is authorised for: a statement for each. */
  get tenantPages() {
    const { sql, caller } = this.#reader
    this.#tenantPages ??= loadPages(this.#reader, wanted =>
      Promise.all(wanted.map(({ range }) => listTenants(sql, caller.token, range))),
    )
    return this.#tenantPages
  }

  get tenant() {
    this.#tenant ??= new DataLoader(ids => findTenants(this.#reader.sql, ids))
    return this.#tenant
  }

  /** Of products. */
  get categories() {
    this.#categories ??= new BatchChildren(parents => listCategoriesOf(this.#reader.sql, parents))
    return this.#categories
  }

  /** Of products. */
  get variants() {
    this.#variants ??= new BatchChildren(parents =>
      listVariantsOf(
        this.#reader.sql,
        parents.map(({ id }) => id),
      ),
    )
    return this.#variants
  }

  get products() {
    this.#products ??= new TenantTableLoaders(this.#reader, products)
    return this.#products
  }

  get vouchers() {
    this.#vouchers ??= new TenantTableLoaders(this.#reader, vouchers)
    return this.#vouchers
  }

  get signups() {
    this.#signups ??= new TenantTableLoaders(this.#reader, exportOf(this.#reader.caller))
    return this.#signups
  }

  /** Of these resources: each choice of them is a statement of its own. */
  removals(resources: readonly RemovalResource[]) {
    const choice = removalResources.filter(resource => resources.includes(resource))
    this.#removals ??= new Map()
    const known = this.#removals.get(choice.join())
    if (known) return known
    const loaders = new TenantTableLoaders(this.#reader, removalsOf(choice, this.#reader.caller.token))
    this.#removals.set(choice.join(), loaders)
    return loaders
  }

  /** Read once for all pages that arrive in the same turn, and never kept: it must be read after each of them. */
  syncState(page: object): Promise<SyncState> {
    this.#syncState ??= new DataLoader(
      async pages => {
        const state = await readSyncState(this.#reader.sql)
        return pages.map(() => state)
      },
      { cache: false },
    )
    return this.#syncState.load(page)
  }
}
