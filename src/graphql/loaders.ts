import DataLoader from 'dataloader'
import type { Sql } from '../db/connect.ts'
import type { Caller } from '../domain/caller.ts'
import { type Category, listCategoriesOf } from '../domain/category.ts'
import { exportOf } from '../domain/export.ts'
import { readSyncState, type SyncState } from '../domain/full-pass.ts'
import type { CountWanted, Holding, PageWanted, RecordWanted } from '../domain/holding.ts'
import type { Horizon } from '../domain/horizon.ts'
import type { Instant } from '../domain/instant.ts'
import { type Page, type Range, upTo } from '../domain/page.ts'
import { type Product, products } from '../domain/product.ts'
import { type Removal, type RemovalResource, removalResources, removalsOf } from '../domain/removal.ts'
import type { MarketingSignup } from '../domain/signup.ts'
import { findTenants, listTenants, type Tenant } from '../domain/tenant.ts'
import { listVariantsOf, type Variant } from '../domain/variant.ts'
import { type PurchasedVoucher, vouchers } from '../domain/voucher.ts'
import { Children } from './children.ts'

/** A page, and the horizon up to which it was read. */
export interface Reading<Row> {
  page: Page<Row>
  serverTime: Instant
}

/** What loaders read through, and for whom. */
interface Reader {
  sql: Sql
  horizon: Horizon
  caller: Caller
}

/** Pages, read in statements of their own, which begin after the horizon is known. */
const loadPages = <Wanted extends { range: Range }, Row>(
  { horizon }: Reader,
  read: (wanted: readonly Wanted[]) => Promise<Page<Row>[]>,
) =>
  new DataLoader<Wanted, Reading<Row>>(
    async wanted => {
      const serverTime = await horizon.read()
      const pages = await read(wanted.map(one => ({ ...one, range: upTo(serverTime, one.range) })))
      return pages.map(page => ({ page, serverTime }))
    },
    { cache: false },
  )

/** What tenants hold of a kind. Nothing is kept: what is asked for twice is read twice, and counted as often. */
class HoldingLoaders<Row> {
  readonly #reader: Reader
  readonly #holding: Holding<Row>
  #pages?: DataLoader<PageWanted, Reading<Row>>
  #counts?: DataLoader<CountWanted, number>
  #records?: DataLoader<RecordWanted, Row | null>

  constructor(reader: Reader, holding: Holding<Row>) {
    this.#reader = reader
    this.#holding = holding
  }

  get pages() {
    this.#pages ??= loadPages(this.#reader, wanted => this.#holding.pages(this.#reader.sql, wanted))
    return this.#pages
  }

  get counts() {
    this.#counts ??= new DataLoader(wanted => this.#holding.counts(this.#reader.sql, wanted), { cache: false })
    return this.#counts
  }

  get records() {
    this.#records ??= new DataLoader(wanted => this.#holding.records(this.#reader.sql, wanted), { cache: false })
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
  #categories?: Children<Product, Category>
  #variants?: Children<Product, Variant>
  #products?: HoldingLoaders<Product>
  #vouchers?: HoldingLoaders<PurchasedVoucher>
  #signups?: HoldingLoaders<MarketingSignup>
  #removals?: Map<string, HoldingLoaders<Removal>>
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
    this.#categories ??= new Children(parents => listCategoriesOf(this.#reader.sql, parents))
    return this.#categories
  }

  /** Of products. */
  get variants() {
    this.#variants ??= new Children(parents =>
      listVariantsOf(
        this.#reader.sql,
        parents.map(({ id }) => id),
      ),
    )
    return this.#variants
  }

  get products() {
    this.#products ??= new HoldingLoaders(this.#reader, products)
    return this.#products
  }

  get vouchers() {
    this.#vouchers ??= new HoldingLoaders(this.#reader, vouchers)
    return this.#vouchers
  }

  get signups() {
    this.#signups ??= new HoldingLoaders(this.#reader, exportOf(this.#reader.caller))
    return this.#signups
  }

  /** Of these resources: each choice of them is a statement of its own. */
  removals(resources: readonly RemovalResource[]) {
    const choice = removalResources.filter(resource => resources.includes(resource))
    this.#removals ??= new Map()
    const known = this.#removals.get(choice.join())
    if (known) return known
    const loaders = new HoldingLoaders(this.#reader, removalsOf(choice, this.#reader.caller.token))
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
