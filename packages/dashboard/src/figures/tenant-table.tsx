// A table of the tenant that is shown and of its direct children. Loads one page at a time, because the figures of each
// tenant use up the rate limit.
import type { SendOperation } from '../api.ts'
import { formatMoney, formatNumberOf, nameCurrency } from '../format.ts'
import { DashboardTenantsBelow, type DashboardTenantsBelowQuery } from '../operations.ts'
import { Empty, Failure, Placeholder } from '../placeholders.tsx'
import { type Column, DataTable, formatSort, numberColumn, readSort, tableCsv } from '../tables/data-table.tsx'
import { ListDownload } from '../tables/list-download.tsx'
import { hasOtherPages, Pager, pageOf, useFirstPage } from '../tables/pager.tsx'
import { fileOf, WholeTable } from '../tables/whole-table.tsx'
import { useAnswer } from '../use-answer.ts'
import { useView } from '../use-view.ts'
import type { Change, Params } from '../view.ts'
import { ViewLink } from '../view-link.tsx'
import { soldFilters } from '../vouchers/filter.ts'
import { balanceIn, type Currency, currenciesOf, type Figures, salesIn, withoutBalanceNote } from './model.ts'
import { salesColumns } from './sales-columns.ts'

/**
 * The number of tenants per page. Each tenant counts as six operations, so one page fits in the default rate limit of
 * 120 per minute.
 */
const pageSize = 10

/**
 * The maximum number of tenants in one download. Reading these tenants uses the rate limit of an administrator's token
 * for about three minutes.
 */
const maxTenants = 500

type Tenant = NonNullable<DashboardTenantsBelowQuery['tenant']>

type TenantBelow = NonNullable<Tenant['children']>['nodes'][number]

/** One row: a tenant with its descendants, a tenant without its descendants, or the total of all rows. */
interface TenantRow {
  name: string
  /** The change of the view when the viewer opens the row. */
  change: Change
  figures: Tenant['figures'] | undefined
}

interface TenantTableProps {
  currency: Currency
  request: SendOperation
  /** The figures that the cards show, for the total. */
  figures: Figures
}

/** A table of the tenant itself and of its direct children. The total of the rows equals the figures on the cards. */
export function TenantTable({ currency: chosen, request, figures }: TenantTableProps) {
  const { view, go } = useView()
  const { tenant, from, to, params, withDescendants } = view
  // All rows use the days in the time zone of the view, so that the rows add up to the total.
  const { timeZone } = figures
  const toRow = ({ databaseId, name, timeZone: own, figures }: TenantBelow): TenantRow => ({
    name,
    change: { tenant: String(databaseId), withDescendants: true, timeZone: own === timeZone ? null : timeZone },
    figures,
  })
  const query = { tenant, period: { from, to }, timeZone, withDescendants: !withDescendants }
  const answer = useAnswer(request, DashboardTenantsBelow, { ...query, ...pageOf(params, pageSize) })
  const children = answer.data?.tenant?.children
  const replaceParams = (changed: Params) => go({ params: changed }, 'replace')
  useFirstPage(answer.isCurrent && !children, params, replaceParams)
  const failure = <Failure answer={answer} what={children ? 'Newer figures of tenants' : 'The tenants'} />
  if (!children) {
    if (answer.error) return failure
    return answer.isCurrent ? (
      <Empty text="The tenants could not be read. A message above the figures says why." />
    ) : (
      <Placeholder kind="table" />
    )
  }
  const { nodes, pageInfo, totalCount } = children
  const { name = '', figures: others } = answer.data?.tenant ?? {}
  const own: TenantRow = {
    name: `${name} itself`,
    change: { withDescendants: false, params: { table: 'periods' } },
    figures: withDescendants ? others : figures,
  }
  const total: TenantRow = {
    name: 'Total',
    change: { withDescendants: true },
    figures: withDescendants ? figures : others,
  }
  const rows = nodes.map(toRow)
  // When the tenant has no vouchers of its own, the table uses the most frequent currency of its children.
  const currency = chosen ?? (total.figures ? currenciesOf(total.figures)[0] : null) ?? null
  const columns = columnsOf(currency)
  const toCsv = (all: readonly TenantRow[]) => {
    const codesOf = ({ figures: of }: TenantRow) => (of ? currenciesOf(of) : [])
    // In a CSV file, a tenant without amounts gets one row, in the first currency.
    const partOf = (code: Currency, isFirst = false) => ({
      columns: columnsOf(code),
      rows: all.filter(row => codesOf(row).includes(code) || (isFirst && codesOf(row).length === 0)),
      currency: code,
    })
    const others = new Set(all.flatMap(codesOf).filter(code => code !== currency))
    return tableCsv(partOf(currency, true), ...[...others].map(code => partOf(code)))
  }
  const label = 'Tenants below'
  const amounts = currency === null ? '' : `, in ${nameCurrency(currency)}`
  const note = `Each with the tenants below it${amounts}. ${withoutBalanceNote}`
  if (!hasOtherPages(pageInfo)) {
    const empty = 'No tenants are below this one, or the token may not see them.'
    return (
      <>
        {failure}
        <WholeTable
          {...{ label, note, empty, columns, toCsv }}
          file="tenants"
          rows={rows.length === 0 ? [] : [own, ...rows]}
          foot={total}
        />
      </>
    )
  }
  return (
    <>
      {failure}
      <div class="table-tools">
        <p>
          {formatNumberOf(totalCount, 'tenant')} by name. {note} The columns sort this page.
        </p>
        <ListDownload
          most={maxTenants}
          file={fileOf('tenants', view)}
          noun="tenant"
          whenCut="Choose a tenant below for the others."
          total={{ count: totalCount, precision: 'EXACT' }}
          readPage={async (after, signal) => {
            const { data } = await request(DashboardTenantsBelow, { ...query, first: pageSize, after }, signal)
            return data.tenant?.children
          }}
          toCsv={(all: readonly TenantBelow[]) => toCsv([own, ...all.map(toRow)])}
        />
      </div>
      <DataTable
        {...{ label, columns }}
        rows={pageInfo.hasPreviousPage ? rows : [own, ...rows]}
        foot={{ ...total, name: 'Total of all pages' }}
        sort={readSort(params.sort)}
        onSort={next => replaceParams({ sort: formatSort(next) })}
        busy={answer.loading}
      />
      <Pager label="Pages of tenants" pageInfo={pageInfo} onPage={page => go({ params: page })} />
    </>
  )
}

function columnsOf(currency: Currency): Column<TenantRow>[] {
  const has = ({ currency: code }: { currency: Currency }) => code === currency
  const outstanding = ({ figures }: TenantRow) =>
    figures?.outstanding?.some(has) ? balanceIn(figures.outstanding, currency).balance : null
  const elsewhere = ({ figures }: TenantRow) =>
    (figures?.totals ?? [])
      .filter(sales => !has(sales))
      .map(sales => formatMoney(sales.paid, sales.currency))
      .join(', ')
  const amounts = salesColumns<TenantRow>(currency, ({ figures, change }) => ({
    // Shows a dash, because a zero would hide amounts in another currency.
    sales: figures?.totals?.some(has) ? salesIn(figures.totals, currency) : null,
    filters: soldFilters(null, currency),
    change: { ...change, currency },
  }))
  return [
    {
      heading: 'Tenant',
      cell: ({ name, change }) => <ViewLink {...{ change }}>{name}</ViewLink>,
      sortBy: ({ name }) => name,
    },
    ...amounts.slice(0, 2),
    { heading: 'In other currencies', cell: elsewhere },
    ...amounts.slice(2),
    numberColumn('Outstanding', outstanding, balance => formatMoney(balance, currency)),
  ]
}
